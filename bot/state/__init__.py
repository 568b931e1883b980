"""Where the state is kept from night to night: a branch, a directory or an artifact; what of it is encrypted."""
