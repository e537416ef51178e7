"""Sums over pairs whose terms depend on the uncertainties of both players."""
