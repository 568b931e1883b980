"""Storage of the state between nights: a branch, a directory or an artifact, with private parts encrypted."""
