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
    map(lambda start, stop: credit_members(start, stop, teams.offsets, own, members, laws, perf, outcome.perf), n_teams)
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


class TeamSpace(NamedTuple):
    """Space for the teams of one small round: bounds in the round, places, laws and performances."""

    cuts: Longs
    places: Ints
    laws: TeamLaws
    perf: Floats


@inner_exact
def team_space(size):
    """Space for a round of up to ``size`` participants."""
    laws = TeamLaws(np.empty(size), np.empty(size), np.empty(size), np.empty(size))
    return TeamSpace(np.empty(size + 1, dtype=np.int64), np.empty(size, dtype=np.int32), laws, np.empty(size))


@inner_exact
def cut_teams(start, stop, begin, bounds, lo, cuts, places):
    """Write the bounds of teams ``start`` to ``stop - 1`` in their round, which begins at row ``begin``, and places."""
    for t in range(stop - start):
        cuts[t] = bounds[start + t] - begin
        places[t] = lo[cuts[t]]
    cuts[stop - start] = bounds[stop] - begin


class FieldRows(NamedTuple):
    """The field of a small round: one row a team, or a participant."""

    mu: Floats
    sigma: Floats
    beta: Floats
    lo: Ints
    perf: Floats


@inner_exact
def field_rows(start, stop, begin, lo, teams, rules, members, perf, space):
    """The field of teams ``start`` to ``stop - 1``, a small round that begins at row ``begin``.

    Without teams its rows are the participants themselves, so that one loop rates both kinds of rounds.
    """
    n, m, laws = len(lo), stop - start, space.laws
    if m == n:
        return FieldRows(members.mu, members.sigma, members.beta, lo, perf)
    cut_teams(start, stop, begin, teams.bounds, lo, space.cuts, space.places)
    shares = Ragged(space.cuts, teams.share[begin : begin + n])
    describe_teams(np.int64(0), m, shares, rules.best, rules.apart, members, laws)
    return FieldRows(laws.mu[:m], laws.sigma[:m], laws.beta[:m], space.places[:m], space.perf[:m])


@inner_exact
def summed_rows(start, stop, begin, lo, teams, members, space):
    """As :func:`field_rows`, for teams whose skill and noise are the sums over their members; without performances."""
    n, m, laws = len(lo), stop - start, space.laws
    if m == n:
        return FieldRows(members.mu, members.sigma, members.beta, lo, space.perf)
    cut_teams(start, stop, begin, teams.bounds, lo, space.cuts, space.places)
    sum_members(np.int64(0), m, Ragged(space.cuts, teams.share[begin : begin + n]), members, laws)
    return FieldRows(laws.mu[:m], laws.sigma[:m], laws.beta[:m], space.places[:m], space.perf)


@inner_exact
def credit_round(field, rules, members, perf, space):
    """Write what each member of a round of :func:`field_rows` has shown; in ``perf`` already without teams."""
    m = len(field.lo)
    if m < len(perf):
        credit_members(np.int64(0), m, space.cuts, rules.own, members, space.laws, field.perf, perf)
