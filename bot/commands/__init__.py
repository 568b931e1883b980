"""Commands that people give in comments: `/nightfuzz bisect` and its like."""
