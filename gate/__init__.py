"""Connects an implementation, runs programs on it, decides the verdict and reports; the command line lives here."""
