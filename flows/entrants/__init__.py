"""Entrants of rated rounds, and what their data set and their system say of them: chances, laws, scores."""
