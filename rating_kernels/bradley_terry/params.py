"""Static Bradley-Terry: one strength a player, which explains all games at once; covariates and ties by Davidson.

    logit P(first wins) = theta_a - theta_b + x' gamma

For comparisons without an order in time: votes between two answers, A/B judgements. Rounds change no rating: flows
refit all ratings as games grow (:mod:`ranklake.flows.execution.refits`).

Source: Bradley and Terry, "Rank analysis of incomplete block designs" (Biometrika 39, 1952); for ties Davidson (1970),
for covariates Cattelan, "Models for paired comparison data" (Statistical Science 27, 2012).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..core.limits import POINTS, choice, finite, names, positive
from ..core.system import check_limits
from ..inference.period_games import SIMULTANEOUS

HALF, DAVIDSON, DROP = "half", "davidson", "drop"
SANDWICH, MODEL, CLUSTER = "sandwich", "model", "cluster"
FARTHEST = 1000.0  # sigma of players without games where the prior has no deviation, rating points
UNIT = 400.0 / math.log(10.0)  # rating points of a natural unit


@dataclass(frozen=True, slots=True)
class BradleyTerry:
    """Hyperparameters of a static model of comparisons.

    Attributes
    ----------
    mu_init : float
        The mean rating of players who met, directly or through others.
    ridge : float
        Standard deviation of the normal prior of a rating around the mean, rating points; inf for none.
    ties : str
        "half": a tie is half a win and half a loss. "davidson": ties have a chance of their own, which is learnt.
        "drop": ties are ignored.
    covariates : tuple of str
        Columns of games that change the chance, oriented to the first player; ``first`` is 1 in every game.
    covariate_sd : float
        Standard deviation of the normal prior of a coefficient around 0, natural units; inf for none.
    covariance : str
        "sandwich": of estimates also where the model is wrong. "model": where it is right. "cluster": where games of
        one cluster depend on each other.
    window : float or None
        Days before the last game within which games count; None: all.
    """

    games: ClassVar[str] = SIMULTANEOUS

    mu_init: float = field(default=1500.0, metadata=finite(POINTS))
    ridge: float = field(default=1000.0, metadata=positive(POINTS, infinite=True))
    ties: str = field(default=HALF, metadata=choice(HALF, DAVIDSON, DROP))
    covariates: tuple[str, ...] = field(default=(), metadata=names())
    covariate_sd: float = field(default=10.0, metadata=positive(infinite=True))
    covariance: str = field(default=SANDWICH, metadata=choice(SANDWICH, MODEL, CLUSTER))
    window: float | None = field(default=None, metadata=positive("days"))

    def __post_init__(self) -> None:
        given: Any = self.covariates
        if not isinstance(given, tuple):
            raise ValueError(f"covariates must be names of columns, in a list, got {self.covariates!r}")
        check_limits(self)
        twice = [name for name, times in Counter(self.covariates).items() if times > 1]
        if twice:
            raise ValueError(
                f"a covariate must be named once, got {twice[0]!r} {self.covariates.count(twice[0])} times"
            )

    @property
    def sigma_init(self) -> float:
        """Deviation of a player without games, rating points."""
        return self.ridge if math.isfinite(self.ridge) else FARTHEST

    @property
    def precision(self) -> float:
        """lambda, of a strength in natural units; 0 without a ridge."""
        return (UNIT / self.ridge) ** 2

    @property
    def covariate_precision(self) -> float:
        """lambda_x, of a coefficient; 0 without a prior."""
        return self.covariate_sd**-2.0
