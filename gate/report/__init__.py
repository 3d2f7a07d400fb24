"""What is told at the end of a gate run: the verdicts as data (model.py), and as text, Markdown, HTML and JUnit."""
