"""`cachegate qualify`: a running server is sent known prompts, and its row cache judged by its counters."""
