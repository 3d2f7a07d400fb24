"""How an implementation is spoken to: connect strings, the protocol, what it declares, programs fitted to it."""
