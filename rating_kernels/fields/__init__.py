"""Sums over the whole field of a round, tabulated once for all participants."""
