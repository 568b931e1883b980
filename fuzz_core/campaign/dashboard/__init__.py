"""Facts of the dashboard, read from the public part of a state."""
