"""Difficulties of problems, and ratings of players from the problems that they solved."""
