"""Chances of a win, a draw and a loss of games, and the share of draws and the advantage learnt from results."""
