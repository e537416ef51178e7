"""Read one-to-one games from tables and PGN files, as periods."""
