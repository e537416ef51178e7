"""Rounds of teams: the four steps with one row a team in the field, and one row a member in the beliefs.

A large round takes the steps one after the other, each divided among workers (:func:`rate_team_round`). Many small
rounds are rated by one kernel of the system, which reads their teams from :func:`team_columns`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...core.beliefs import Beliefs, Map
from ...core.jit import inner_exact
from ...core.standings import Floats, Longs, Rounds
from ...core.system import ConvergenceError, Outcome, Prior, System
from .members import credit_members, describe_teams, sum_members

__all__ = [
    "cut_teams",
    "field_of_teams",
    "rate_team_round",
    "sum_teams",
    "team_columns",
    "team_rules",
    "team_scratch",
]


def rate_team_round(system: System, params: Any, beliefs: Beliefs, round: Rounds, map: Map, outcome: Outcome) -> None:
    """All four steps for one round of teams, from those that the system has for players.

    Parameters
    ----------
    system
        ``summarise`` and ``perform`` see one row a team, ``prior`` and ``absorb`` one row a member. ``absorb`` reads
        each member's noise from ``prior.beta``.
    params
        Have the fields ``team``, ``team_noise`` and ``credit``.

    Raises
    ------
    ConvergenceError
        A team has no performance, or a member no rating; has the row of the member, of a team the first one.
    """
    assert round.teams is not None
    n, (bounds, share), (best, apart, own) = round.n_rows, round.teams, team_rules(params)
    prior, weight, field, team = outcome.prior, np.empty(n), field_of_teams(round), _empty_laws(round)
    n_teams = field.n_rows
    map(lambda start, stop: system.prior(params, beliefs, round, start, stop, prior), n)
    beliefs.reserve(round.player)
    perf = np.full(n_teams, np.nan)
    map(
        lambda start, stop: describe_teams(
            start, stop, bounds, share, best, apart, prior.mu, prior.sigma, prior.beta, weight,
            team.mu, team.sigma, team.beta,
        ),
        n_teams,
    )  # fmt: skip
    try:
        summary = system.summarise(params, team, field, map)
        map(lambda start, stop: system.perform(params, summary, start, stop, perf), len(summary.first) - 1)
    except ConvergenceError as error:
        raise ConvergenceError(error.rule, None if error.row is None else int(bounds[error.row])) from None
    map(
        lambda start, stop: credit_members(
            start, stop, bounds, own, weight, prior.mu, prior.sigma, team.mu, team.beta, perf,
            prior.beta, outcome.perf,
        ),
        n_teams,
    )  # fmt: skip
    map(lambda start, stop: system.absorb(params, beliefs, round, prior, summary, start, stop, outcome), n)


def field_of_teams(round: Rounds) -> Rounds:
    """A round of teams with one row a team, of no player."""
    assert round.teams is not None
    first = round.teams.offsets[:-1]
    offsets, nobody = np.array([0, len(first)]), np.zeros(len(first), dtype=np.int32)
    return replace(round, offsets=offsets, player=nobody, lo=round.lo[first], hi=round.hi[first], teams=None)


def sum_teams(round: Rounds, prior: Prior, weight: Floats, map: Map) -> Prior:
    """The laws of teams whose skill and noise are the sums over their members, whose weights are written."""
    assert round.teams is not None
    (bounds, share), team = round.teams, _empty_laws(round)
    map(
        lambda start, stop: sum_members(
            start, stop, bounds, share, prior.mu, prior.sigma, prior.beta, weight, team.mu, team.sigma, team.beta
        ),
        len(team.mu),
    )  # fmt: skip
    return team


def _empty_laws(round: Rounds) -> Prior:
    """One row for each team of a round, to be filled."""
    assert round.teams is not None
    n = len(round.teams.offsets) - 1
    return Prior(np.empty(n), np.empty(n), np.empty(n), np.zeros(n, dtype=np.int32))


def team_columns(rounds: Rounds) -> tuple[Longs, Longs, Floats]:
    """The teams of small rounds as :func:`cut_teams` takes them: first team of each round, bounds and shares.

    Without teams, each round has as many teams as rows, and the others are empty.
    """
    if rounds.teams is None:
        return rounds.offsets, np.empty(0, dtype=np.int64), np.empty(0)
    return np.searchsorted(rounds.teams.offsets, rounds.offsets), rounds.teams.offsets, rounds.teams.values


def team_rules(params: Any) -> tuple[bool, bool, bool]:
    """The hyperparameters of teams: whether the best matter most, noises are apart, and credit is own."""
    return params.team == "best", params.team_noise == "members", params.credit == "own"


@inner_exact
def team_scratch(size):
    """Arrays for one small round of teams: bounds, places, weights of members; mu, sigma, beta and perf of teams."""
    places, weight, mu = np.empty(size, dtype=np.int32), np.empty(size), np.empty(size)
    return np.empty(size + 1, dtype=np.int64), places, weight, mu, np.empty(size), np.empty(size), np.empty(size)


@inner_exact
def cut_teams(start, stop, begin, bounds, lo, cuts, places):
    """Write the bounds of teams ``start`` to ``stop - 1`` in their round, which begins at row ``begin``, and places."""
    for t in range(stop - start):
        cuts[t] = bounds[start + t] - begin
        places[t] = lo[cuts[t]]
    cuts[stop - start] = bounds[stop] - begin
