"""The pipeline, wired: seeds to invocations to test cases to findings to bugs."""
