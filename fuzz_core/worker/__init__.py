"""Code that runs in the target's environment: the zygote, and the processes forked from it."""
