"""Jittor: what is public in it, its Vars, its modes and its errors."""
