"""Algorithm 1 of the FreeFuzz paper and its rules, pure: a description in, a description out."""
