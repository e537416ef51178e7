"""Advantages of a round in kernels: its field has the strengths of the participants, their beliefs keep their ratings.

A rating plus an advantage is a strength. The expectations and the roots of a round are those of the strengths; a
performance found there is one of strength, too, and less the advantage it is one in rating. Without advantages, where
the column is empty, kernels call nothing here.
"""

from __future__ import annotations

from ..core.jit import inner_exact


@inner_exact
def to_strengths(begin, end, advantage, mu, rating):
    """Add the advantages to rows ``begin`` to ``end - 1`` of ``mu``; ``rating`` takes them, from its first place on."""
    for i in range(begin, end):
        rating[i - begin] = mu[i]
        mu[i] += advantage[i]


@inner_exact
def restore_ratings(begin, end, rating, mu):
    """Undo :func:`to_strengths`, to the bit."""
    for i in range(begin, end):
        mu[i] = rating[i - begin]


@inner_exact
def perform_in_rating(begin, end, advantage, perf):
    """Subtract the advantages from performances of strength."""
    for i in range(begin, end):
        perf[i] -= advantage[i]
