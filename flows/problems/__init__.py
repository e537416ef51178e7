"""Difficulties of problems on the scale of a run's ratings, and ratings of players from problems."""
