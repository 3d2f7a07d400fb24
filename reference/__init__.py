"""The specification, executable: plain Python that reads like the rules it states.

Imports nothing of the project outside this folder, and neither pytest nor hypothesis.
"""
