"""Recording what a seed calls: runs in the target's environment, inside a process that is thrown away."""
