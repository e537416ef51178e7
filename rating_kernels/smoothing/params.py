"""Hyperparameters of smoothing, and the drift between two rounds of a player that follows from them.

All ratings in rating points.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.limits import POINTS, choice, finite, non_negative, positive
from ..core.standings import Floats, Rounds
from ..core.system import check_limits

__all__ = ["Smoothing", "model"]


@dataclass(frozen=True, slots=True)
class Smoothing:
    """Hyperparameters of the model whose beliefs are smoothed.

    Between two rounds of a player, k of which are past, the skill's mean grows by practice / (1 + k / practice_rounds),
    a share 1 - 2 / N of it before a round of N participants, and its variance by gamma^2 w + drift_per_day days before
    a round of weight w. A performance is normal around the skill with variance beta^2 / w.

    Attributes
    ----------
    tie_mode : str
        "full": ties are exact coincidences of performance; "split": half a win and half a loss.
    beta : float
        Standard deviation of a performance around skill, in a round of weight 1.
    gamma : float
        Standard deviation of the drift of a skill from round to round.
    drift_per_day : float
        Variance added by time, squared points a day.
    practice : float
        Growth of a skill before the first rounds after the debut.
    practice_rounds : float
        Number of past rounds at which the growth is half of that.
    mu_init : float
        Mean skill of newcomers.
    sigma_init : float
        Standard deviation of a newcomer's skill around ``mu_init``.
    """

    tie_mode: str = field(default="full", metadata=choice("full", "split"))
    beta: float = field(default=160.0, metadata=positive(POINTS))
    gamma: float = field(default=12.0, metadata=non_negative(POINTS))
    drift_per_day: float = field(default=12.0, metadata=non_negative("squared rating points a day"))
    practice: float = field(default=6.0, metadata=non_negative(POINTS))
    practice_rounds: float = field(default=20.0, metadata=positive())
    mu_init: float = field(default=1500.0, metadata=finite(POINTS))
    sigma_init: float = field(default=350.0, metadata=positive(POINTS))

    def __post_init__(self) -> None:
        check_limits(self)

    @property
    def numbers(self) -> tuple[float, ...]:
        """beta^2, gamma^2, drift_per_day, practice, practice_rounds, in the order of the kernels' arguments."""
        return self.beta**2, self.gamma**2, self.drift_per_day, self.practice, self.practice_rounds


def model(params: Smoothing, rounds: Rounds) -> tuple[Any, ...]:
    """Inputs of the kernels: time, weight and share of practice of each round, and the hyperparameters."""
    sizes = np.diff(rounds.offsets)
    share: Floats = np.maximum(1.0 - 2.0 / np.maximum(sizes, 1), 0.0)
    return (rounds.time_seconds, rounds.weight, share, *params.numbers)
