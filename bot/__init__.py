"""GitHub: issues, comments, checks and state."""
