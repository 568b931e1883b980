"""GitHub's API for one repository: our identity, requests that may be repeated, and writes that happen once."""
