"""Margins and surprises of games: whether ratings lead the next results by as much as they say.

Favourites win by more than underdogs do. If a margin gives their victories too much weight, their ratings creep up, and
the surprises m (S - E) of the next games fall with the lead x of the ratings before them. The slope of a line through
the origin, which does not depend on who is called the first player, is then below 0. Its standard error is White's
(1980), for surprises of unequal variance.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ranklake.rating_kernels.core.margins import NO_RULE, factors_of_games, margin_rule
from ranklake.rating_kernels.core.standings import Floats, Longs
from ranklake.rating_kernels.core.system import System

from ..entrants.entrants import Entrants
from ..entrants.given_games import GivenGames

_POINTS = 100.0  # rating points of lead that the slope is for


def score_margins(system: System, params: Any, entrants: Entrants, given: GivenGames, results: Longs) -> Floats:
    """Sums over the games with points of each period: games, and the sums that :func:`slope_of` needs.

    ``entrants``: two rows a game, the winner first.
    ``results``: as for :func:`ranklake.flows.entrants.scores.score_rounds`.
    Returns float64[p, 6].
    """
    score, points = given.score, given.points
    known = ~np.isnan(points[::2] - points[1::2])
    if not known.any():
        return np.zeros((len(results) - 1, 6))
    n, rule = len(entrants.lo) // 2, margin_rule(params) if system.margins else NO_RULE
    drawn = entrants.lo[1::2] == 0
    x, factor = entrants.mu[::2] - entrants.mu[1::2], np.empty(n)
    factors_of_games(rule, points, drawn, x, factor)
    expected = entrants.chances_of_games(np.arange(n))
    y = factor * (np.where(np.isnan(score), np.where(drawn, 0.5, 1.0), score) - expected)
    terms = np.stack([np.ones(n), x * x, x * y, x * x * y * y, x**3 * y, x**4], axis=1) * known[:, None]
    sums = np.concatenate((np.zeros((1, terms.shape[1])), np.cumsum(terms, axis=0)))
    return np.diff(sums[results], axis=0)


def slope_of(sums: Floats) -> dict[str, Any]:
    """The number of games with points, the slope for 100 rating points, and its standard error; NaN if unknown."""
    games, xx, xy, xxyy, xxxy, xxxx = sums.sum(axis=0).tolist()
    slope = xy / xx if xx > 0.0 else math.nan
    spread = math.sqrt(max(xxyy - 2.0 * slope * xxxy + slope * slope * xxxx, 0.0)) if xx > 0.0 else math.nan
    error = spread / xx if xx > 0.0 and games > 1 else math.nan
    return {"games": int(games), "slope": _POINTS * slope, "standard_error": _POINTS * error}
