"""The rules for teams of the systems: the laws of teams before a round, see :attr:`System.team_laws`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.ragged import Ragged
from ...core.standings import Floats
from ...core.system import TeamLaws
from .members import Members, describe_teams, sum_members


def weigh_members(params: Any, teams: Ragged, mu: Floats, sigma: Floats, beta: Floats) -> TeamLaws:
    """The weighted mean of the members, by the hyperparameters ``team`` and ``team_noise``."""
    return _described(teams, params.team == "best", params.team_noise == "members", mu, sigma, beta)


def mean_of_members(teams: Ragged, mu: Floats, sigma: Floats, beta: Floats) -> TeamLaws:
    """The mean of the members by their shares; the team has one noise."""
    return _described(teams, False, False, mu, sigma, beta)


def add_members(params: Any, teams: Ragged, mu: Floats, sigma: Floats, beta: Floats) -> TeamLaws:
    """The sum of the members, skills and noises."""
    laws = _empty(teams)
    sum_members(0, len(laws.mu), teams, Members(mu, sigma, beta), laws)
    return laws


def add_skills(params: Any, teams: Ragged, mu: Floats, sigma: Floats, beta: Floats) -> TeamLaws:
    """The sum of the members' skills; the team has the noise of a player."""
    return add_members(params, teams, mu, sigma, beta)._replace(beta=beta[teams.offsets[:-1]])


def _described(teams: Ragged, best: bool, apart: bool, mu: Floats, sigma: Floats, beta: Floats) -> TeamLaws:
    laws = _empty(teams)
    describe_teams(0, len(laws.mu), teams, best, apart, Members(mu, sigma, beta), laws)
    return laws


def _empty(teams: Ragged) -> TeamLaws:
    n = len(teams.offsets) - 1
    return TeamLaws(np.empty(len(teams.values)), np.empty(n), np.empty(n), np.empty(n))
