"""Storage of the state between nights: a ref, a directory or an artifact, with private parts encrypted."""
