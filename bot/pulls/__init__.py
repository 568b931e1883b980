"""Pull requests: one comment that is kept up to date, and a check."""
