"""Ways to execute a test case with Jittor."""
