"""Library-neutral data: values, FuzzTypes, invocations, outcomes. Standard library and numpy only."""
