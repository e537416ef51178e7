"""The rating systems, one page each."""
