"""Recording of a seed's calls, in the target's environment, inside a process that is thrown away."""
