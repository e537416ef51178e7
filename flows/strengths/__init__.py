"""Strengths of a run that explains all games at once: boards by category, coefficients, pairs, differences."""
