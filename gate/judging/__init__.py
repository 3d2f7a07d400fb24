"""How a program is judged on an implementation: laws, shrinking, the text of a failure, known deviations."""
