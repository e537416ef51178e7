"""LeetCode's contest rating.

Source: LeetCode, "New contest rating algorithm" (leetcode.com/discuss/general-discussion/468851, 2020). A player's
needed rating is the one at which the geometric mean of the expected and the actual place would be expected, against all
participants (:mod:`.needed_rating`). The rating moves a part of the way there: half of it in the first contest, two
ninths after many. The performance is the needed rating. There is no
uncertainty and no correction against inflation; weights and ceilings of rounds have no effect. All ratings in rating
points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...core.beliefs import Beliefs, Map
from ...core.jit import exact, inner_exact
from ...core.limits import POINTS, choice, finite
from ...core.standings import Rounds
from ...core.system import ConvergenceError, Outcome, Prior, System, check_limits
from ...inference.needed_rating import (
    TIE_SHARE,
    Changes,
    Convention,
    absorb,
    begin_small,
    end_small,
    needed_ratings,
    perform,
    prior,
)
from ...inference.performance import group_starts, without_table
from ...inference.resets.ratings import reset_ratings
from ...inference.win_probability import one_curve

SMALL = 160  # participants up to which sums term by term are faster than a table
RATE = math.log(10.0) / 400.0  # 400 points are odds of 10 to 1

_BASE, _OWN = 1.0, 1.0  # among the conventions of :mod:`.needed_rating`
_DECAY = 5.0 / 7.0  # of the terms in the denominator of a change, from contest to contest


@dataclass(frozen=True, slots=True)
class LeetCode:
    """Hyperparameters of LeetCode's rating.

    Attributes
    ----------
    tie_rank : str
        The place of a tie group: its first ("min", as in the site's rankings), its last ("max") or their mean ("avg").
    mu_init : float
        Rating of a newcomer.
    """

    tie_rank: str = field(default="min", metadata=choice("min", "max", "avg"))
    mu_init: float = field(default=1500.0, metadata=finite(POINTS))
    sigma_init: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        check_limits(self)


win_probability, performance_law = one_curve(RATE)  # the curve of the expected place: 400 points are odds of 10 to 1


def summarise(params: LeetCode, prior: Prior, round: Rounds, map: Map) -> Changes:
    """Steps 2 and 3: the sum over all opponents, one root a player, and the part of the way to it."""
    seed, need = needed_ratings(prior.mu, round.lo, round.hi, _convention(params), map)
    mu = np.empty_like(need)
    _new_ratings(0, len(mu), prior.mu, prior.n_before, need, mu)
    return Changes(group_starts(round.lo), seed, need, mu)


def rate_small(params: LeetCode, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """All four steps for many small rounds in sequence, in one kernel call."""
    failed = _rate_small(rounds.columns, _convention(params), beliefs.store, outcome)
    if failed >= 0:
        raise ConvergenceError("no performance found")


def _convention(params: LeetCode) -> Convention:
    return Convention(TIE_SHARE[params.tie_rank], RATE, _BASE, _OWN)


@inner_exact
def _share(n_before):
    """Share of the way to the needed rating: 1 / (1 + sum of (5/7)^t for t from 0 to the number of rounds before)."""
    return 1.0 / (1.0 + (1.0 - _DECAY ** (n_before + 1.0)) / (1.0 - _DECAY))


@exact
def _new_ratings(begin, end, mu, n_before, need, after):
    for i in range(begin, end):
        after[i] = mu[i] + _share(n_before[i]) * (need[i] - mu[i])


@exact
def _rate_small(rounds, convention, store, outcome):
    """Rate all rounds; returns -1, or the round that has no root."""
    seed, empty = np.empty(SMALL), without_table(0.0, 0.0, 0.0, 1.0)
    for r in range(len(rounds.offsets) - 1):
        i, j = rounds.offsets[r], rounds.offsets[r + 1]
        if begin_small(i, j, rounds, convention, empty, store, outcome, seed) >= 0:
            return r
        _new_ratings(i, j, outcome.mu_prior, outcome.n_before, outcome.perf, outcome.mu)
        end_small(i, j, rounds.player, rounds.time_seconds[r], store, outcome)
    return -1


SYSTEM = System(
    name="leetcode", params=LeetCode,
    prior=prior, summarise=summarise, perform=perform, absorb=absorb, rate_small=rate_small, small=SMALL,
    reset_rows=reset_ratings,
    summary_ratings=("mu",),
    win_probability=win_probability, logistic_rate=lambda *given: RATE, performance_law=performance_law, deviations=0.0,
    ignores=("weight", "perf_ceiling", "precision"),
)  # fmt: skip
