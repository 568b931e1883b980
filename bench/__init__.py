"""Measurements of nightfuzz: see `python -m bench --help`."""
