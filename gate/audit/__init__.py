"""`cachegate audit`: did the engine do what the specification says, in every recorded run?"""
