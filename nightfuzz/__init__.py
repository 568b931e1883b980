"""The packages that nightfuzz installs beside fuzz_core."""
