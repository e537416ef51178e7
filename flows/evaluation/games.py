"""Scores of the predicted results of games.

The expected score of the first player is the probability of a win, to which a draw counts half; a score between these
is compared with it as it is. Sources: Glickman, "Parameter estimation in large dynamic paired comparison experiments",
for the cross-entropy (a binomial deviance); Brier, "Verification of forecasts expressed in terms of probability", for
the squared error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ranklake.rating_kernels.core.standings import Floats, Longs

from ..entrants.entrants import Entrants
from ..entrants.given_games import between_results
from ..entrants.scores import RoundScores

_LEAST_CHANCE = 1e-15  # of a result, that its logarithm is finite
LEAST_BEFORE = {"everyone": 1, "experienced": 5}
"""Games that both players have played before, at least, by the name of the filter."""


def score_games(entrants: Entrants, scores: dict[str, RoundScores], results: Longs, score: Floats) -> Floats:
    """Sums over the games of each period, for each filter of :data:`LEAST_BEFORE`.

    ``entrants``: two rows a game, the winner first.
    ``scores``: the scores of the periods, with the metrics of chances; the sums of a filter without them are undefined.
    ``results``: as for :func:`ranklake.flows.entrants.scores.score_rounds`.
    ``score``: of each winner, NaN where it follows from the places.
    Returns float64[p, filters, 4]: games, draws, squared errors of the expected score, and cross-entropy in bits.
    """
    draw, period = entrants.lo[1::2] == 0, np.repeat(np.arange(len(results) - 1), np.diff(results))
    fewer = np.minimum(entrants.n_before[::2], entrants.n_before[1::2])
    sums = np.zeros((len(results) - 1, len(LEAST_BEFORE), 4))
    for at, (name, least) in enumerate(LEAST_BEFORE.items()):
        if name not in scores:
            continue
        pairs = scores[name].pairs
        assert pairs is not None, "the chances of a system"
        draws = np.bincount(period[draw & (fewer >= least)], minlength=len(sums))
        games, squares, bits = (0.5 * column for column in (pairs.weight, pairs.squared_error, pairs.cross_entropy))
        sums[:, at] = np.stack([games, draws, squares, bits], axis=-1)  # a game has the weight of two participations
    between = np.flatnonzero(between_results(score))
    if len(between):
        more = _beyond_wins(entrants, between, score[between])
        for at, least in enumerate(LEAST_BEFORE.values()):
            told = fewer[between] >= least
            for number, column in enumerate(more, 2):
                sums[:, at, number] += np.bincount(period[between[told]], column[told], len(sums))
    return sums


def _beyond_wins(entrants: Entrants, games: Longs, score: Floats) -> tuple[Floats, Floats]:
    """The squared errors and cross-entropies of scores between a draw and a win, less those of wins."""
    chance = np.clip(entrants.chances_of_games(games), _LEAST_CHANCE, 1.0 - _LEAST_CHANCE)
    return (score - chance) ** 2 - (1.0 - chance) ** 2, (1.0 - score) * (np.log2(chance) - np.log2(1.0 - chance))


def summary(sums: Floats) -> dict[str, dict[str, Any]]:
    """For each filter the number of games, the share of draws, and the mean of both errors; NaN without games."""
    found = {}
    for name, (games, *totals) in zip(LEAST_BEFORE, sums.sum(axis=0).tolist(), strict=True):
        means = [value / games if games else float("nan") for value in totals]
        found[name] = {"games": int(games)} | dict(zip(("draws", "squared_error", "cross_entropy"), means, strict=True))
    return found
