"""State and verification of a lake."""
