"""Gandalf at work: graphs executed by several libraries side by side, and the disagreements of these libraries."""
