"""`cachegate metrics`: does a row-cache server keep the laws that its Prometheus counters allow?"""
