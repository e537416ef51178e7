"""Glicko as implemented in the Elo-MMR engine: all pairs of a contest count as one game.

Source: the system "glicko" of the engine published with Ebtekar and Liu, arXiv:2101.00400, of which it is a baseline.
Players are updated by the mean over all participants, including themselves, like one game at even odds:

    1 / sigma'^2 = 1 / sigma^2 + q^2 / 4        mu' = mu + q sigma'^2 surprise / N        q = (pi / sqrt 3) / beta

So ``surprise`` / N and 1/4 replace the sums of :mod:`.glicko`, and beta replaces its fixed scale; the default beta
gives the same scale. A contest of weight w has beta / sqrt(w), and a precision acts alike. There is no upper limit on
sigma. All ratings in rating points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.beliefs import Beliefs, Map
from ..core.limits import POINTS, finite, non_negative, positive
from ..core.margins import NO_RULE
from ..core.numerics import C3
from ..core.standings import Conditions, Floats, Rounds
from ..core.system import Outcome, PerformanceLaw, Prior, System, check_limits
from ..inference.pairwise import SMALL, GameSums, pairwise_sums
from ..inference.resets.ratings import reset_beliefs
from ..inference.win_probability import curve_law, glicko_rate, glicko_win_probability
from .glicko import Idle, Q, absorb_rows, diffuse_rows, idle_variance, rate_each

EVEN = 0.25  # information of a game at even odds against an opponent with sigma 0


@dataclass(frozen=True, slots=True)
class GlickoAllPairs:
    """Hyperparameters of the engine's Glicko.

    Attributes
    ----------
    beta : float
        Standard deviation of a performance around skill in one game, rating points.
    sig_drift : float
        Growth of sigma before a contest, also for newcomers: rating points per square root of a period.
    period_days : float or None
        Length of a period in days; idle time then counts, and newcomers have no idle time. None: every contest is a
        period.
    mu_init : float
        Rating of a newcomer.
    sigma_init : float
        Standard deviation of a newcomer's skill around ``mu_init``.
    """

    beta: float = field(default=C3 / Q, metadata=positive(POINTS))  # the scale of Glicko
    sig_drift: float = field(default=35.0, metadata=non_negative("rating points per root of a period"))
    period_days: float | None = field(default=None, metadata=positive("days"))
    mu_init: float = field(default=1500.0, metadata=finite(POINTS))
    sigma_init: float = field(default=350.0, metadata=positive(POINTS))

    def __post_init__(self) -> None:
        check_limits(self)


def sigma_limit(params: GlickoAllPairs) -> float:
    """The fixed point of 1 / sigma'^2 = 1 / (sigma^2 + sig_drift^2) + q^2 / 4: one contest of weight 1 a period."""
    drift, noise = params.sig_drift, 2.0 * params.beta / C3
    return math.sqrt(2.0 * drift / (drift + math.hypot(drift, 2.0 * noise))) * noise


def win_probability(params: GlickoAllPairs, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """Expected score of a game with both deviations, as in Glicko."""
    return glicko_win_probability(C3 / params.beta * np.sqrt(conditions.noise), one, other)


def logistic_rate(params: GlickoAllPairs, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """Natural units of odds a rating point, with both deviations."""
    return glicko_rate(C3 / params.beta * np.sqrt(conditions.noise), one, other)


def performance_law(params: GlickoAllPairs, conditions: Conditions, participants: Any, prior: Prior) -> PerformanceLaw:
    """Logistic, of the variance of the expected score's curve."""
    return curve_law(C3 / params.beta * np.sqrt(conditions.noise), prior, uncertain=True)


def prior(params: GlickoAllPairs, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Step 1: sigma grows."""
    diffuse_rows(start, stop, round.player, round.time_seconds[0], _idle(params), beliefs.store, prior)


def summarise(params: GlickoAllPairs, prior: Prior, round: Rounds, map: Map) -> GameSums:
    """Steps 2 and 3: surprise and information of each participant, as one game."""
    n = round.n_rows
    sums = pairwise_sums(prior.mu, prior.sigma, round.lo, _natural(params, round), map)
    return GameSums(sums.first, sums.surprise / n, np.full(n, EVEN))


def absorb(
    params: GlickoAllPairs, beliefs: Beliefs, round: Rounds, prior: Prior, summary: GameSums, start: int, stop: int,
    outcome: Outcome,
) -> None:  # fmt: skip
    """Step 4: the new rating and its deviation."""
    absorb_rows(
        start, stop, round.player, round.time_seconds[0], _natural(params, round), prior, summary.surprise,
        summary.information, beliefs.store, outcome,
    )  # fmt: skip


def rate_small(params: GlickoAllPairs, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """All four steps for many small rounds in sequence, in one kernel call."""
    rate_each(rounds.columns, C3 / params.beta, True, NO_RULE, _idle(params), beliefs.store, outcome)


def _natural(params: GlickoAllPairs, round: Rounds) -> float:
    """q: natural units a rating point, in a contest of this weight and precision."""
    return C3 / params.beta * math.sqrt(round.conditions.noise[0])


def _idle(params: GlickoAllPairs) -> Idle:
    return Idle(*idle_variance(params.sig_drift, params.period_days), True, math.inf)


SYSTEM = System(
    name="glicko-allpairs", performs=False, params=GlickoAllPairs, sigma_limit=sigma_limit, uncertainty=1.0,
    prior=prior, summarise=summarise, absorb=absorb, rate_small=rate_small, small=SMALL,
    reset_rows=reset_beliefs, widens=True,
    win_probability=win_probability, logistic_rate=logistic_rate, performance_law=performance_law, advantages=True,
    ignores=("perf_ceiling",),
)  # fmt: skip
