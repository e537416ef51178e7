"""Soft resets of beliefs: ratings move towards a centre, and uncertainty grows."""
