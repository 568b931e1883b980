"""GitHub's API for one repository: who we are, what may be repeated, what must never be written twice."""
