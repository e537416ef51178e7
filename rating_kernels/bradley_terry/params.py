"""The hyperparameters of the Bradley-Terry model."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, fields

from ..core.limits import POINTS, choice, finite, limits_of, positive
from ..core.system import check_value, convert_floats

HALF, DAVIDSON, DROP = "half", "davidson", "drop"
SANDWICH, MODEL, CLUSTER = "sandwich", "model", "cluster"
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
        Seconds before the last game within which games count; None: all.
    """

    mu_init: float = field(default=1500.0, metadata=finite(POINTS))
    ridge: float = field(default=1000.0, metadata=positive(POINTS, infinite=True))
    ties: str = field(default=HALF, metadata=choice(HALF, DAVIDSON, DROP))
    covariates: tuple[str, ...] = ()
    covariate_sd: float = field(default=10.0, metadata=positive(infinite=True))
    covariance: str = field(default=SANDWICH, metadata=choice(SANDWICH, MODEL, CLUSTER))
    window: float | None = field(default=None, metadata=positive("seconds"))

    def __post_init__(self) -> None:
        convert_floats(self)
        for one in fields(self):
            value = getattr(self, one.name)
            if one.metadata and value is not None:
                check_value(one.name, value, limits_of(one))
        names = self.covariates
        if not isinstance(names, tuple) or not all(isinstance(name, str) and name for name in names):
            raise ValueError(f"covariates must be names of columns, got {names!r}")
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            raise ValueError(f"a covariate must be named once, got {twice[0]!r} {names.count(twice[0])} times")

    @property
    def precision(self) -> float:
        """lambda, of a strength in natural units; 0 without a ridge."""
        return (UNIT / self.ridge) ** 2

    @property
    def covariate_precision(self) -> float:
        """lambda_x, of a coefficient; 0 without a prior."""
        return self.covariate_sd**-2.0
