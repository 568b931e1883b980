"""Documented constraints out of text: docstrings and error messages. An ambiguous text gives no constraint."""
