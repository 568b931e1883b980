"""Issues of clusters: what is wanted, what stands there, and what is to be done about the difference."""
