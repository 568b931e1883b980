"""The rules, one decorated function each: their order in these files is the order in which they are drawn."""
