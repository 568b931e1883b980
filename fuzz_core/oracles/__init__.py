"""Oracles: which modes to run, and what their outcomes mean. They execute nothing."""
