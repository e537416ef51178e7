"""Ratings as people see them: display rating, leaderboard, history of a player."""
