"""Data sets: contests, standings, players, corrections."""
