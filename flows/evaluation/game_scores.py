"""Scores of predicted results of games: draws are results, predicted by the win probability of the system.

The expected score of the first player is the probability of a win, to which a draw counts half. Sources: Glickman,
"Parameter estimation in large dynamic paired comparison experiments", for the cross-entropy (a binomial deviance);
Brier, "Verification of forecasts expressed in terms of probability", for the squared error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ranklake.rating_kernels.core.standings import Floats, Longs
from ranklake.rating_kernels.core.system import Prior, System

from .entrants import Entrants

__all__ = ["LEAST_BEFORE", "score_games", "summary"]

LEAST_BEFORE = {"everyone": 1, "experienced": 5}
"""Games that both players have played before, at least, by the name of the filter."""

_LEAST_CHANCE = 1e-9  # bounds the cross-entropy of a result whose predicted probability is 0


def score_games(
    system: System, params: Any, entrants: Entrants, sigma: Floats, weight: Floats, results: Longs
) -> Floats:
    """Sums over the games of each period, for each filter of :data:`LEAST_BEFORE`.

    Parameters
    ----------
    entrants, sigma
        Two rows a game, the winner first; with the strengths of the players in it.
    weight
        Of each game.
    results
        As for :func:`.scores.score_rounds`.

    Returns
    -------
    float64[p, filters, 4]
        Games, draws, squared errors of the expected score, and cross-entropy in bits.
    """
    mu, n_before = entrants.mu, entrants.n_before
    nothing = np.full(len(mu) // 2, np.nan)
    first, second = (Prior(mu[at::2], sigma[at::2], nothing, n_before[at::2]) for at in (0, 1))
    expected = np.clip(system.beats(params, weight, 2, first, second), _LEAST_CHANCE, 1.0 - _LEAST_CHANCE)
    draw = (entrants.lo[1::2] == 0).astype(np.float64)
    score = 1.0 - 0.5 * draw
    bits = -(score * np.log2(expected) + (1.0 - score) * np.log2(1.0 - expected))
    period, n = np.repeat(np.arange(len(results) - 1), np.diff(results)), len(results) - 1
    sums = np.empty((n, len(LEAST_BEFORE), 4))
    for at, least in enumerate(LEAST_BEFORE.values()):
        known = np.minimum(n_before[::2], n_before[1::2]) >= least
        for column, values in enumerate((np.ones(len(draw)), draw, np.square(score - expected), bits)):
            sums[:, at, column] = np.bincount(period[known], values[known], n)
    return sums


def summary(sums: Floats) -> dict[str, dict[str, Any]]:
    """For each filter the number of games, the share of draws, and the mean of both errors; NaN without games."""
    found = {}
    for name, (games, *totals) in zip(LEAST_BEFORE, sums.sum(axis=0).tolist(), strict=True):
        means = [value / games if games else float("nan") for value in totals]
        found[name] = {"games": int(games)} | dict(zip(("draws", "squared_error", "cross_entropy"), means, strict=True))
    return found
