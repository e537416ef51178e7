"""Rounds of teams: the four steps with one row a team in the field, and one row a member in the beliefs.

A large round takes the steps one after the other, each divided among workers (:func:`rate_team_round`). Many small
rounds are rated by one kernel of the system, which reads their teams from :func:`team_columns`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...core.beliefs import Beliefs, Map
from ...core.jit import inner_exact
from ...core.learning import Tally
from ...core.ragged import Ragged
from ...core.standings import Floats, Ints, Longs, Rounds
from ...core.system import ConvergenceError, Outcome, Prior, System, TeamLaws
from .members import Members, credit_members, describe_teams, sum_members


def rate_team_round(system: System, params: Any, beliefs: Beliefs, round: Rounds, map: Map, outcome: Outcome) -> None:
    """All four steps for one round of teams, from those that the system has for players.

    ``system``: ``summarise`` and ``perform`` see one row a team, ``prior`` and ``absorb`` one row a member. ``absorb``
    reads each member's noise from ``prior.beta``.
    ``params``: have the fields ``team``, ``team_noise`` and ``credit``.
    Raises ConvergenceError: a team has no performance, or a member no rating; has the row of the member, of a team the
    first one.
    """
    assert round.teams is not None
    n, teams, (best, apart, own), prior = round.n_rows, round.teams, team_rules(params), outcome.prior
    field, team, members = field_of_teams(round), _empty_laws(round), Members(prior.mu, prior.sigma, prior.beta)
    n_teams, laws = field.n_rows, TeamLaws(np.empty(n), team.mu, team.sigma, team.beta)
    map(lambda start, stop: system.prior(params, beliefs, round, start, stop, prior), n)
    beliefs.reserve(round.player)
    perf = np.full(n_teams, np.nan)
    map(lambda start, stop: describe_teams(start, stop, teams, best, apart, members, laws), n_teams)
    try:
        summary = system.summarise(params, team, field, map)
        map(lambda start, stop: system.perform(params, summary, start, stop, perf), len(summary.first) - 1)
    except ConvergenceError as error:
        raise ConvergenceError(error.rule, None if error.row is None else int(teams.offsets[error.row])) from None
    map(
        lambda start, stop: credit_members(
            start, stop, teams.offsets, own, members, laws, perf[start:stop], outcome.perf
        ),
        n_teams,
    )
    tally = Tally(system.learning, params, beliefs, round, prior)

    def finish(start: int, stop: int) -> None:
        tally.add(start, stop, outcome.perf)
        system.absorb(params, beliefs, round, prior, summary, start, stop, outcome)

    map(finish, n)
    tally.close()


def field_of_teams(round: Rounds) -> Rounds:
    """A round of teams with one row a team, of no player."""
    assert round.teams is not None
    first = round.teams.offsets[:-1]
    offsets, nobody = np.array([0, len(first)]), np.zeros(len(first), dtype=np.int32)
    return replace(round, offsets=offsets, player=nobody, lo=round.lo[first], hi=round.hi[first], teams=None)


def sum_teams(round: Rounds, prior: Prior, weight: Floats, map: Map) -> Prior:
    """The laws of teams whose skill and noise are the sums over their members, whose weights are written."""
    assert round.teams is not None
    teams, team, members = round.teams, _empty_laws(round), Members(prior.mu, prior.sigma, prior.beta)
    laws = TeamLaws(weight, team.mu, team.sigma, team.beta)
    map(lambda start, stop: sum_members(start, stop, teams, members, laws), len(team.mu))
    return team


def _empty_laws(round: Rounds) -> Prior:
    """One row for each team of a round, to be filled."""
    assert round.teams is not None
    n = len(round.teams.offsets) - 1
    return Prior(np.empty(n), np.empty(n), np.empty(n), np.zeros(n, dtype=np.int32))


class TeamColumns(NamedTuple):
    """The teams of small rounds, for kernels: first team of each round; members and shares as :class:`.Ragged`."""

    first: Longs
    bounds: Longs
    share: Floats


def team_columns(rounds: Rounds) -> TeamColumns:
    """The teams of small rounds; without teams, each round has as many as rows, and the other columns are empty."""
    if rounds.teams is None:
        return TeamColumns(rounds.offsets, np.empty(0, dtype=np.int64), np.empty(0))
    return TeamColumns(np.searchsorted(rounds.teams.offsets, rounds.offsets), *rounds.teams)


class TeamRules(NamedTuple):
    """The hyperparameters of teams: whether the best matter most, noises are apart, and credit is own."""

    best: bool
    apart: bool
    own: bool


def team_rules(params: Any) -> TeamRules:
    """The rules in hyperparameters."""
    return TeamRules(params.team == "best", params.team_noise == "members", params.credit == "own")


class FieldRows(NamedTuple):
    """The field of a small round: one row a team, or a participant."""

    mu: Floats
    sigma: Floats
    beta: Floats
    lo: Ints
    perf: Floats


class TeamSpace(NamedTuple):
    """Space for small rounds: the laws of all their teams, and the field of one round."""

    laws: TeamLaws
    field: FieldRows


@inner_exact
def team_space(teams, size):
    """Space for the given :class:`TeamColumns`, of rounds of up to ``size`` participants."""
    n, m, lo = len(teams.share), len(teams.bounds), np.empty(size, dtype=np.int32)
    laws = TeamLaws(np.empty(n), np.empty(m), np.empty(m), np.empty(m))
    return TeamSpace(laws, FieldRows(np.empty(size), np.empty(size), np.empty(size), lo, np.empty(size)))


@inner_exact
def has_teams(r, rounds, teams):
    """Whether a team of round ``r`` has several members."""
    return teams.first[r + 1] - teams.first[r] < rounds.offsets[r + 1] - rounds.offsets[r]


@inner_exact
def fill_field(r, rounds, teams, rules, members, space):
    """Copy the field of round ``r`` to ``space.field``: one row a team, by :func:`.members.describe_teams`.

    Without teams its rows are the participants themselves, so that one loop rates both kinds of rounds.
    Returns int: the number of its rows.
    """
    if has_teams(r, rounds, teams):
        shares = Ragged(teams.bounds, teams.share)
        describe_teams(teams.first[r], teams.first[r + 1], shares, rules.best, rules.apart, members, space.laws)
    return _copy_field(r, rounds, teams, members, space)


@inner_exact
def fill_summed(r, rounds, teams, members, space):
    """As :func:`fill_field`, for teams whose skill and noise are the sums over their members."""
    if has_teams(r, rounds, teams):
        sum_members(teams.first[r], teams.first[r + 1], Ragged(teams.bounds, teams.share), members, space.laws)
    return _copy_field(r, rounds, teams, members, space)


@inner_exact
def _copy_field(r, rounds, teams, members, space):
    field, laws, n = space.field, space.laws, teams.first[r + 1] - teams.first[r]
    begin, alone = rounds.offsets[r], not has_teams(r, rounds, teams)
    for k in range(n):
        if alone:
            i = begin + k
            field.mu[k], field.sigma[k], field.beta[k] = members.mu[i], members.sigma[i], members.beta[i]
        else:
            t = teams.first[r] + k
            field.mu[k], field.sigma[k], field.beta[k] = laws.mu[t], laws.sigma[t], laws.beta[t]
            i = teams.bounds[t]
        field.lo[k] = rounds.lo[i]
    return n


@inner_exact
def credit_round(r, rounds, teams, rules, members, perf, space):
    """Write what each participant of round ``r`` has shown, given the performances of :func:`fill_field`'s rows."""
    begin, start, stop = rounds.offsets[r], teams.first[r], teams.first[r + 1]
    if has_teams(r, rounds, teams):
        credit_members(start, stop, teams.bounds, rules.own, members, space.laws, space.field.perf, perf)
    else:
        for k in range(stop - start):
            perf[begin + k] = space.field.perf[k]
