"""`cachegate rows`: what would another row-cache layout have given on a text or row trace?"""
