"""The difference of the skills of two players: how large, how sure, and who is the better one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ranklake.rating_kernels import System
from ranklake.rating_kernels.inference.win_probability import normal


class SkillDifference(NamedTuple):
    """The skill of a player minus the skill of another one.

    ``difference``, ``deviation``: mean and standard deviation, rating points.
    ``skill_chance``: the chance that the skill of the first player is the higher one. A game adds the noise of the day:
    the chance to win the next one is nearer to 1/2.
    """

    difference: Any
    deviation: Any
    skill_chance: Any


def skill_difference(
    system: System, mu: Any, sigma: Any, other_mu: Any, other_sigma: Any, deviation: Any = None
) -> SkillDifference:
    """The difference of two beliefs, or of arrays of them, by a system that has an uncertainty of skills.

    Beliefs are taken as normal: those of Elo-MMR and Elo-R are nearly so.

    ``deviation``: that of the difference; by default beliefs about two players are independent.
    """
    difference = np.subtract(mu, other_mu, dtype=np.float64)
    if deviation is None:
        deviation = system.uncertainty * np.hypot(sigma, other_sigma)
    certain = np.where(difference == 0.0, 0.0, np.copysign(np.inf, difference))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(deviation > 0.0, difference / deviation, certain)
    return SkillDifference(difference, deviation, normal(ratio))
