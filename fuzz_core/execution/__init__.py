"""Supervising processes of the target: zygotes, workers and their deaths (controller side)."""
