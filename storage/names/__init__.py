"""Names of players: which are nearly equal, which are similar, and what to say about one that nobody has."""
