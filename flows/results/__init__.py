"""Display rating, leaderboard, and history of a player."""
