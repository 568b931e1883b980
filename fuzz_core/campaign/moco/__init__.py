"""MoCo on a target: what is known of its apis, programs and their mutants, what they come to."""
