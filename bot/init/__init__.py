"""`nightfuzz init`: writes the workflows that call nightfuzz into a user's repository."""
