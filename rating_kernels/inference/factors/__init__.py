"""Beliefs as products of a normal factor and logistic factors: absorb performances, merge, widen, find the mode."""
