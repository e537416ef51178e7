"""Single games of Elo in sequence.

Source: "The Math Behind ELO". A game has exactly the same result as a round of two players. In addition the score may
be any number from 0 to 1, and each game may have its own K.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.beliefs import Beliefs
from ..core.jit import exact
from ..core.standings import Floats
from .elo import K_LIMITS, Elo, curve, expected_score, factor_of, move, rule, store, surplus_of


class Games(NamedTuple):
    """Results of single games, one entry a game.

    Attributes
    ----------
    expected_a, expected_b : float64[m]
        Expected scores; they add up to 1.
    mu_a, mu_b : float64[m]
        Ratings after the game, rating points.
    """

    expected_a: Floats
    expected_b: Floats
    mu_a: Floats
    mu_b: Floats


def rate_games(
    params: Elo,
    beliefs: Beliefs,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    score: npt.ArrayLike,
    k: npt.ArrayLike | None = None,
) -> Games:
    """Rate single games in sequence; ``beliefs`` is updated in place.

    Games have no time: the players' last time does not change.

    Parameters
    ----------
    a, b : m rows of the store
    score : m numbers in [0, 1]
        Score of ``a``: 1 for a win, 1/2 for a draw, 0 for a loss.
    k : m numbers >= 0, or one, or None
        K of both players in each game, rating points; NaN or None selects the rule of ``params``.

    Raises
    ------
    ValueError
        Columns of unequal length, or an invalid game; names the game.
    """
    scores = np.require(score, np.float64, ["C", "W"])
    m = len(scores)
    one, other = (np.require(rows, np.int64, ["C", "W"]) for rows in (a, b))
    if not one.shape == other.shape == scores.shape == (m,):
        raise ValueError(f"a, b and score must be equally long, got {one.shape}, {other.shape} and {scores.shape}")
    factors = np.array(np.broadcast_to(np.asarray(math.nan if k is None else k, np.float64), (m,)))
    rules = {
        f"a and b must be two players of {len(beliefs)}": (one != other)
        & ((one == a) & (other == b))  # whole numbers
        & (np.minimum(one, other) >= 0)
        & (np.maximum(one, other) < len(beliefs)),
        "score must be in [0, 1]": (scores >= 0.0) & (scores <= 1.0),
        f"k must be {K_LIMITS.rule}": np.isnan(factors) | K_LIMITS.mask(factors),
    }
    for rule_text, valid in rules.items():
        if not valid.all():
            at = int(np.argmin(valid))
            raise ValueError(
                f"game {at}: {rule_text}, got a = {one[at]}, b = {other[at]}, score = {scores[at]}, k = {factors[at]}"
            )
    games = Games(np.empty(m), np.empty(m), np.empty(m), np.empty(m))
    _rate_games(one, other, scores, factors, np.ones(1), *curve(params), rule(params), store(beliefs), games)
    return games


@exact
def _rate_games(a, b, score, given, one, rate, shape, rule, store, found):
    share = one[0]  # unknown to the compiler: see _move_rows
    for g in range(len(score)):
        x, y = a[g], b[g]
        gap, behind = store.mu[x] - store.mu[y], store.mu[y] - store.mu[x]
        win, loss = expected_score(gap, rate, shape), expected_score(behind, rate, shape)
        lost = 1.0 - score[g]
        k_x, k_y = factor_of(x, rule, store), factor_of(y, rule, store)
        if not math.isnan(given[g]):
            k_x, k_y = given[g], given[g]
        up, down = k_x * surplus_of(loss, win, lost, 1.0) / share, k_y * surplus_of(win, loss, score[g], 1.0) / share
        move(x, up, 1.0, rule, store)
        move(y, down, 1.0, rule, store)
        found.expected_a[g], found.expected_b[g] = win, loss
        found.mu_a[g], found.mu_b[g] = store.mu[x], store.mu[y]
