"""Hyperparameters of smoothing, and what follows from them for each round: drift, noise.

All ratings in rating points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from ..core.limits import POINTS, at_least, choice, finite, later, non_negative, positive, within
from ..core.standings import Rounds
from ..core.system import check_limits
from ..inference.skewed import Law, RoundLaw, law_of_round, mean_shift, noise_variance
from .recursion import Drift, RoundModel
from .rounds import RoundNoise


@dataclass(frozen=True, slots=True)
class Smoothing:
    """Hyperparameters of the model whose beliefs are smoothed.

    Between two rounds of a player, k of which are past, the skill's mean grows by practice / (1 + k / practice_rounds),
    a share 1 - 2 / N of it before a round of N participants, and its variance by gamma^2 w + drift_per_day days before
    a round of weight w. A performance is normal around the skill with variance beta^2 / (w precision), or skewed as in
    Elo-MMS (:mod:`..inference.skewed`): this is its spread above the skill, and below it spreads ``skew`` times as
    wide.

    ``tie_mode``: "full": ties are exact coincidences of performance; "split": half a win and half a loss.
    ``beta``: standard deviation of a performance around skill, in a round of weight 1; above it, if the sides differ.
    ``skew``: how many times wider performances spread below the skill than above it; 1 is symmetric.
    ``lower``: the law below the skill. "normal", or "logistic": the influence of a bad performance is bounded.
    ``gamma``: standard deviation of the drift of a skill from round to round.
    ``drift_per_day``: variance added by time, squared points a day.
    ``practice``: growth of a skill before the first rounds after the debut.
    ``practice_rounds``: number of past rounds at which the growth is half of that.
    ``mu_init``: mean skill of newcomers.
    ``sigma_init``: standard deviation of a newcomer's skill around ``mu_init``.
    ``team``: level of a team: "mean" of its members, by their shares. There is no smoothing of teams with "best".
    ``team_noise``: "team": a team has one noise, as a player has; "members": each member has a noise, and in a team
    they average.
    ``credit``: "joint": members divide a team's surprise as their joint posterior does; "own": each has shown all of
    it.
    ``duel``: how many times wider performances spread in a duel than in a large round, where they spread by ``beta``.
    ``resolution``: what a place shows of a performance. "exact": all of it; "rank": in a round of N a share of its
    variance, (N - 1) / (N + 1); see :mod:`.resolution`.
    """

    tie_mode: str = field(default="full", metadata=choice("full", "split"))
    beta: float = field(default=160.0, metadata=positive(POINTS))
    skew: float = field(default=1.0, metadata=at_least(1.0))
    lower: str = field(default="normal", metadata=choice("normal", "logistic"))
    gamma: float = field(default=12.0, metadata=non_negative(POINTS))
    drift_per_day: float = field(default=12.0, metadata=non_negative("squared rating points a day"))
    practice: float = field(default=6.0, metadata=non_negative(POINTS))
    practice_rounds: float = field(default=20.0, metadata=positive())
    mu_init: float = field(default=1500.0, metadata=finite(POINTS))
    sigma_init: float = field(default=350.0, metadata=positive(POINTS))
    team: str = field(default="mean", metadata=later(choice("mean", "best")))
    team_noise: str = field(default="team", metadata=later(choice("team", "members")))
    credit: str = field(default="joint", metadata=later(choice("joint", "own")))
    duel: float = field(default=1.0, metadata=later(within(1.0, 10.0)))
    resolution: str = field(default="exact", metadata=later(choice("exact", "rank")))

    def __post_init__(self) -> None:
        check_limits(self)

    @property
    def law(self) -> Law:
        """The law of performances, for kernels."""
        return Law(self.beta, self.skew, self.lower == "normal", self.duel, self.resolution == "rank")

    @property
    def skewed(self) -> bool:
        """Whether the two sides of a performance differ."""
        return self.skew > 1.0 or self.lower != "normal"

    def with_normal_noise(self) -> Smoothing:
        """The same with normal performances, of the variance that skewed ones have in a large round."""
        if not self.skewed:
            return self
        variance: float = noise_variance(law_of_round(self.law, math.inf), 1.0)
        return replace(self, beta=variance**0.5, skew=1.0, lower="normal")


def noise(params: Smoothing, rounds: Rounds) -> RoundNoise:
    """The noise of performances, for kernels."""
    law, spread = _laws(params, rounds), model(params, rounds).spread
    weight = rounds.conditions.noise * np.square(params.beta / law.beta)
    hidden = np.broadcast_to(law.hidden, len(rounds)).astype(np.float64)
    return RoundNoise(spread / weight, mean_shift(law, rounds.conditions.noise), weight, hidden)


def model(params: Smoothing, rounds: Rounds) -> RoundModel:
    """What the model knows about the rounds, for kernels."""
    law = _laws(params, rounds)
    spread = params.beta**2 * noise_variance(law._replace(beta=1.0), 1.0)
    return RoundModel(rounds.time_seconds, rounds.weight, law.tau, spread)


def drift(params: Smoothing) -> Drift:
    """How skills change, for kernels."""
    return Drift(params.gamma**2, params.drift_per_day, params.practice, params.practice_rounds)


def _laws(params: Smoothing, rounds: Rounds) -> RoundLaw:
    """The law of performances in each round."""
    law: RoundLaw = law_of_round(params.law, np.maximum(rounds.participants, 1))
    return law
