"""Tables of a data set: contests, standings, players, and the log of corrections."""
