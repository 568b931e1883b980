"""nightfuzz's engine: seeds, tracing, mutation, execution, oracles and triage."""

__version__ = "0.1.0"
