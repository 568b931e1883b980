"""Reports: what the store holds, rendered for people."""
