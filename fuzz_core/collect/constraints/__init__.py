"""Documented constraints out of text: docstrings and error messages. What is ambiguous gives none."""
