"""MoCo on a target: knowledge of its apis, programs and their mutants, and the results of these programs."""
