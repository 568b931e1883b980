"""Gandalf at work: graphs executed by several libraries side by side, and what they disagree about."""
