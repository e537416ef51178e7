"""Hyperparameters of Elo-MMR and Elo-MMchi, and the drift and spread of performances that follow from them.

Source: Ebtekar and Liu, "An Elo-like System for Massive Multiplayer Competitions" (arXiv:2101.00400), and their engine.
All ratings in rating points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..core.limits import POINTS, choice, finite, later, non_negative, positive, share
from ..core.margins import MarginParams
from ..core.standings import Conditions, Floats
from ..core.system import Prior, check_limits


@dataclass(frozen=True, slots=True)
class EloMMParams(MarginParams):
    """Hyperparameters that Elo-MMR and Elo-MMchi share.

    Either ``weight_limit`` and ``sig_limit`` (the engine's form: after many rounds sigma tends to ``sig_limit``, and a
    round moves a normal belief by weight_limit / (1 + weight_limit) of the surprise) or the paper's ``beta`` and
    ``gamma``.

    Attributes
    ----------
    tie_mode : str or None
        "full" (default): ties are exact coincidences of performance; "split": half a win and half a loss.
    weight_limit : float
        After many rounds, a round of weight 1 moves a rating by weight_limit / (1 + weight_limit) of the surprise.
    sig_limit : float
        Limit of sigma of an active player; smaller values mean slower drift of skills.
    beta : float or None
        Standard deviation of a performance around skill; together with ``gamma`` instead of the two limits.
    gamma : float or None
        Standard deviation of the drift of a skill from round to round; together with ``beta``.
    noob_delay : tuple of float
        Factors on the weight of a player's first rounds, in order; () for none.
    drift_per_day : float
        Variance added by idle time, squared points a day.
    mu_init : float
        Rating of a newcomer.
    sigma_init : float
        Standard deviation of a newcomer's skill around ``mu_init``.
    team : str
        Level of a team. "mean": of its members, by their shares; "best": the level that beats all members at once half
        of the time, so that the strong ones matter most and shares do not.
    team_noise : str
        "team": a team has one noise, as a player has; "members": each member has a noise, and in a team they average.
    credit : str
        How members take part in a team's surprise. "joint": as the joint posterior of their skills has it; "own": as if
        each had shown the team's performance alone.
    tie_loss, tie_win : float or None
        The parts of a loss and of a win that a tie counts as, together instead of ``tie_mode``: "full" is (1, 1),
        "split" is (0.5, 0.5). Unequal ones move everyone who ties, up if ``tie_win`` is larger.
    """

    tie_mode: str | None = field(default=None, metadata=choice("full", "split"))
    weight_limit: float = field(default=0.2, metadata=positive())
    sig_limit: float = field(default=80.0, metadata=non_negative(POINTS))
    beta: float | None = field(default=None, metadata=positive(POINTS))
    gamma: float | None = field(default=None, metadata=non_negative(POINTS))
    noob_delay: tuple[float, ...] = field(default=(), metadata=positive())
    drift_per_day: float = field(default=0.0, metadata=non_negative("squared rating points a day"))
    mu_init: float = field(default=1500.0, metadata=finite(POINTS))
    sigma_init: float = field(default=350.0, metadata=positive(POINTS))
    team: str = field(default="mean", metadata=later(choice("mean", "best")))
    team_noise: str = field(default="team", metadata=later(choice("team", "members")))
    credit: str = field(default="joint", metadata=later(choice("joint", "own")))
    tie_loss: float | None = field(default=None, metadata=later(share()))
    tie_win: float | None = field(default=None, metadata=later(share()))

    def __post_init__(self) -> None:
        object.__setattr__(self, "noob_delay", tuple(float(v) for v in self.noob_delay))
        check_limits(self)
        if (self.tie_loss is None) != (self.tie_win is None):
            raise ValueError(f"tie_loss and tie_win go together, got tie_loss={self.tie_loss}, tie_win={self.tie_win}")
        if self.tie_loss is None and self.tie_mode is None:
            object.__setattr__(self, "tie_mode", "full")
        elif self.tie_loss is not None and self.tie_mode is not None:
            raise ValueError(
                f"give tie_mode, or tie_loss and tie_win, not both; got tie_mode={self.tie_mode}, "
                f"tie_loss={self.tie_loss}, tie_win={self.tie_win}"
            )
        if (self.beta is None) != (self.gamma is None):
            raise ValueError(f"beta and gamma go together, got beta={self.beta}, gamma={self.gamma}")
        if self.beta is not None and self.gamma is not None:
            if self.drift_per_day:
                raise ValueError(
                    f"drift_per_day goes with weight_limit and sig_limit, not beta and gamma; got {self.drift_per_day}"
                )
            if (self.weight_limit, self.sig_limit) != (0.2, 80.0):
                raise ValueError("give beta and gamma, or weight_limit and sig_limit, not both")
        elif self.sig_limit == 0.0 and self.drift_per_day == 0.0:
            raise ValueError("sig_limit must be > 0 rating points unless drift_per_day is, got 0")


def sigma_limit(params: EloMMParams) -> float:
    """Limit of sigma after many rounds of weight 1 without idle time."""
    if params.beta is None or params.gamma is None:
        return params.sig_limit
    g2 = params.gamma**2
    return math.sqrt((math.sqrt(g2 * g2 + 4.0 * params.beta**2 * g2) - g2) / 2.0)


class Rates(NamedTuple):
    """beta^2 = (a + b / w) / precision and gamma^2 = c w + d days, in a round of weight w.

    ``a``, ``b``: part of the variance of a performance that does not depend on the weight, and the part of a round of
    weight 1.
    ``c``, ``d``: variance of the drift that a round of weight 1 adds, and that each day since the last round adds.
    ``delay`` (float64[...]): factors on the weight of a player's first rounds.
    """

    a: float
    b: float
    c: float
    d: float
    delay: Floats


def rates(params: EloMMParams) -> Rates:
    """Noise and drift of hyperparameters in either form."""
    delay = np.array(params.noob_delay, dtype=np.float64)
    if params.beta is not None and params.gamma is not None:
        return Rates(0.0, params.beta**2, params.gamma**2, 0.0, delay)
    u, s2 = params.weight_limit, params.sig_limit**2
    return Rates(s2, (s2 + params.drift_per_day) / u, u * s2, params.drift_per_day, delay)


def delta(params: EloMMParams, conditions: Conditions, prior: Prior) -> Floats:
    """Standard deviation of performances around the prior ``mu``: sqrt(sigma^2 + beta^2)."""
    (a, b, _, _, delay), (weight, precision) = rates(params), conditions
    factor = np.concatenate((delay, [1.0]))[np.minimum(prior.n_before, len(delay))]
    spread: Floats = np.sqrt(prior.sigma**2 + a / precision + b / (weight * factor * precision))
    return spread
