"""Smoothing of whole histories: every skill at every round, given all rounds before and after."""
