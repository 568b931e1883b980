"""Valid calls by search: candidates from signatures, repaired by what refusals say."""
