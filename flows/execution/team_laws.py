"""Laws of teams before a round, from those of their members, by the rule of a system."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranklake.rating_kernels import Prior, System
from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.core.standings import Conditions, Floats
from ranklake.rating_kernels.core.system import TeamLaws
from ranklake.rating_kernels.inference.teams.laws import mean_of_members


def team_laws(system: System | None, params: Any, teams: Ragged, mu: Floats, sigma: Floats, beta: Floats) -> TeamLaws:
    """The law of each team, given those of the members; a team of one has the law of its member, to the bit.

    ``system``, ``params``: without a system, or with one without a rule for teams, a team has the mean of its members'
    skills.
    ``mu``, ``sigma``, ``beta`` (float64[members]): belief about each member, and the deviation of its performances.
    """
    if system is None or system.team_laws is None:
        return mean_of_members(teams, mu, sigma, beta)
    return system.team_laws(params, teams, mu, sigma, beta)


def team_prior(
    system: System, params: Any, teams: Ragged, conditions: Conditions, prior: Prior, participants: int | None = None
) -> Prior:
    """The prior of each team of a round, for the chances of the system, from those of all members.

    ``participants``: teams of one round; by default all are in one.
    """
    first = teams.offsets[:-1]
    noise = noise_of(system, params, conditions, len(first) if participants is None else participants, prior)
    law = team_laws(system, params, teams, prior.mu, prior.sigma, noise)
    sigma = sigma_for_chances(teams, law, prior.sigma, noise)
    return Prior(law.mu, sigma, np.full(len(first), np.nan), np.minimum.reduceat(prior.n_before, first))


def sigma_for_chances(teams: Ragged, law: TeamLaws, sigma: Floats, noise: Floats) -> Floats:
    """The sigma of each team for the chances of a system, which have the noise of a player in them: the rest of a
    team's noise is added to that of its skill.
    """
    first = teams.offsets[:-1]
    variance = np.square(law.sigma) + np.square(law.beta) - np.square(noise[first])
    return np.where(teams.lengths == 1, sigma[first], np.sqrt(np.maximum(variance, 0.0)))


def noise_of(system: System, params: Any, conditions: Conditions, participants: int, prior: Prior) -> Floats:
    """The deviation of each player's performances around its skill; 0 if the system has no model of performances."""
    if system.performance_law is None:
        return np.zeros(len(prior.mu))
    law = system.performance_law(params, conditions, participants, prior)
    noise: Floats = np.sqrt(np.maximum(np.square(law.deviation) - np.square(prior.sigma), 0.0))
    return noise
