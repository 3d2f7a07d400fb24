"""`cachegate curve`: what would every budget and policy have given on a routing trace?"""
