"""Tables of results of problems, and of problems."""
