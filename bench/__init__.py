"""The engine's speed, measured the same way everywhere: `make bench`."""
