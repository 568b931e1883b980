"""Seeds: pieces of code that exercise a library, from each source that has some."""
