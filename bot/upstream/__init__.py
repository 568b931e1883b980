"""Reports to the library's own tracker: drafted here, read and approved by a person, filed once."""
