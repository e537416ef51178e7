"""Codeforces' rule generalised: real numbers, any spread of performances, weighted rounds.

Source: Ebtekar and Liu's engine, where it is called cfsys; the comparison of arXiv:2101.00400, section 5, uses it. A
player's performance is the rating at which the geometric mean of the expected and the actual place would be expected
(:mod:`.needed_rating`); ``mu`` moves a part of the way there. ``sigma`` is passed through, neither used nor changed.
All ratings in rating points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.beliefs import Beliefs, Map
from ..core.jit import exact
from ..core.limits import POINTS, finite, non_negative, positive
from ..core.numerics import C3
from ..core.standings import Conditions, Floats, Rounds
from ..core.system import ConvergenceError, Outcome, PerformanceLaw, Prior, System, check_limits
from ..inference.needed_rating import (
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
from ..inference.performance import group_starts, without_table
from ..inference.resets.ratings import reset_ratings
from ..inference.win_probability import curve_law, logistic

SMALL = 160  # participants up to which sums term by term are faster than a table
_AVERAGE = TIE_SHARE["avg"]
_BASE, _OWN = 0.5, 1.0  # cfsys among the conventions of :mod:`.needed_rating`


@dataclass(frozen=True, slots=True)
class CFGeneral:
    """Hyperparameters of the generalised Codeforces rule.

    Attributes
    ----------
    beta : float
        Standard deviation of a performance in a round of weight 1, rating points; by default such that 400 points are
        odds of 10 to 1.
    weight : float
        A round of weight 1 moves ``mu`` weight / (1 + weight) of the way to the performance.
    mu_init : float
        Rating of a newcomer.
    sigma_init : float
        ``sigma`` of all players; has no effect on ratings.
    """

    beta: float = field(default=400.0 * C3 / math.log(10.0), metadata=positive(POINTS))
    weight: float = field(default=1.0, metadata=positive())
    mu_init: float = field(default=1500.0, metadata=finite(POINTS))
    sigma_init: float = field(default=350.0, metadata=non_negative(POINTS))

    def __post_init__(self) -> None:
        check_limits(self)


def sigma_limit(params: CFGeneral) -> float:
    """The constant ``sigma``: the displayed rating is ``mu``."""
    return params.sigma_init


def win_probability(params: CFGeneral, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """A logistic law of standard deviation ``beta`` / sqrt(weight)."""
    return logistic(C3 * np.sqrt(conditions.weight) / params.beta * (one.mu - other.mu))


def logistic_rate(params: CFGeneral, conditions: Conditions, one: Prior, other: Prior) -> Any:
    """Natural units of odds a rating point."""
    return C3 * np.sqrt(conditions.weight) / params.beta


def performance_law(params: CFGeneral, conditions: Conditions, participants: Any, prior: Prior) -> PerformanceLaw:
    """Logistic, of the variance of the curve."""
    return curve_law(C3 * np.sqrt(conditions.weight) / params.beta, prior)


def summarise(params: CFGeneral, prior: Prior, round: Rounds, map: Map) -> Changes:
    """Steps 2 and 3: the sum over all opponents, one root a player, and the mean of rating and performance."""
    weight = round.weight[0]
    convention = Convention(_AVERAGE, C3 * math.sqrt(weight) / params.beta, _BASE, _OWN)
    seed, need = needed_ratings(prior.mu, round.lo, round.hi, convention, map)
    perf = np.minimum(need, round.perf_ceiling[0])
    return Changes(group_starts(round.lo), seed, perf, prior.mu + _share(weight, params.weight) * (perf - prior.mu))


def rate_small(params: CFGeneral, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """All four steps for many small rounds in sequence, in one kernel call."""
    failed = _rate_small(rounds.columns, params.beta, params.weight, beliefs.store, outcome)
    if failed >= 0:
        raise ConvergenceError("no performance found")


@exact
def _share(round_weight, weight):
    """Share of the way from the rating to the performance."""
    return round_weight * weight / (1.0 + round_weight * weight)


@exact
def _rate_small(rounds, beta, own_weight, store, outcome):
    """Rate all rounds; returns -1, or the round that has no root."""
    whole, seed, empty = np.bool_(False), np.empty(SMALL), without_table(0.0, 0.0, 0.0, 1.0)
    for r in range(len(rounds.offsets) - 1):
        i, j, weight = rounds.offsets[r], rounds.offsets[r + 1], rounds.weight[r]
        convention = Convention(_AVERAGE, C3 * math.sqrt(weight) / beta, _BASE, _OWN, whole)  # type: ignore[arg-type]
        if begin_small(i, j, rounds, convention, empty, store, outcome, seed) >= 0:
            return r
        mu, perf = outcome.mu_prior, outcome.perf
        for k in range(i, j):
            perf[k] = min(perf[k], rounds.perf_ceiling[r])
            outcome.mu[k] = mu[k] + _share(weight, own_weight) * (perf[k] - mu[k])
        end_small(i, j, rounds.player, rounds.time_seconds[r], store, outcome)
    return -1


SYSTEM = System(
    name="cf-general", params=CFGeneral, sigma_limit=sigma_limit,
    prior=prior, summarise=summarise, perform=perform, absorb=absorb, rate_small=rate_small, small=SMALL,
    reset_rows=reset_ratings,
    summary_ratings=("mu",),
    win_probability=win_probability, logistic_rate=logistic_rate, performance_law=performance_law,
    ignores=("precision",),
)  # fmt: skip
