"""Contests of teams in a smoothing: the performance of each member, and the deviation of its noise.

A team is one row of the field, around the mean of its members' cavities, and each member has shown what the result of
the team says about it, given the cavities of the partners (:mod:`..inference.teams.members`):

    q_k = m_k + (p - M) / w_k,    b_k^2 = (B^2 + sum_(j != k) w_j^2 v_j) / w_k^2

These are the messages of belief propagation from the result of a team to its members. With normal noise the means at
the fixed point are those of the joint posterior of all skills, given the performances (Weiss and Freeman, "Correctness
of belief propagation in Gaussian graphical models of arbitrary topology", Neural Computation 13, 2001). The variances
are only if no two players are partners twice, also through others: they leave correlations of partners out.

The variances do not depend on results. A cavity's variance v grows with the noises b, and these with v, so that the
iteration from no observations at all decreases everywhere, and ends at a fixed point.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..core.beliefs import Map
from ..core.standings import Floats, Rounds
from ..core.system import ConvergenceError, TeamLaws
from ..inference.teams.members import Members, credit_members, describe_teams
from .params import Smoothing, noise
from .resolution import settle
from .rounds import solve_rounds


def solve_teams(params: Smoothing, rounds: Rounds, map: Map, mean: Floats, variance: Floats, perf: Floats) -> None:
    """Write what each member has shown, as :func:`.sweeps.solve_performances` does for rounds without teams.

    Raises ValueError: ``team`` is not "mean".
    Raises ConvergenceError: a performance was not found; names the first row of the round.
    """
    field = _Field(params, rounds)
    starts, ceiling, split = rounds.offsets[:-1], rounds.perf_ceiling - params.mu_init, params.tie_mode == "split"
    sigma, own, shown = np.sqrt(variance), params.credit == "own", np.empty(field.n)

    def work(first: int, last: int) -> None:  # rounds that begin in a range of rows
        start, stop = np.searchsorted(starts, (first, last))
        teams = field.describe(start, stop, mean, sigma)
        field.variance[teams] = np.where(
            field.alone[teams], variance[field.first[teams]],
            np.square(field.laws.sigma[teams]) + np.square(field.laws.beta[teams]) - field.of_round[teams],
        )  # fmt: skip
        failed = solve_rounds(
            start, stop, field.offsets, field.lo, field.noise, ceiling, split, field.laws.mu, field.variance, shown,
        )  # fmt: skip
        if failed >= 0:
            raise ConvergenceError("no performance found", int(rounds.offsets[failed]))
        members = Members(mean, sigma, field.of_row)
        credit_members(teams.start, teams.stop, field.bounds, own, members, field.laws, shown[teams], perf)

    map(work, rounds.n_rows)


def settle_weights(
    params: Smoothing, rounds: Rounds, map: Map, cavities: Callable[[Floats], Floats]
) -> tuple[Floats, Floats]:
    """The weight of each performance, at which the variances of the cavities repeat themselves; and these.

    ``cavities``: as for :func:`.resolution.settle`.
    The weight is that of a round in which an individual would show as much: a member's noise has the variance b_k^2.
    That of the round for a participant without a team.
    Raises ValueError: ``team`` is not "mean".
    Raises ConvergenceError: the variances do not settle.
    """
    field, own = _Field(params, rounds), params.credit == "own"
    sizes = np.diff(rounds.offsets)
    given, mean, perf = np.repeat(field.noise.weight, sizes), np.zeros(rounds.n_rows), np.empty(rounds.n_rows)
    as_given = np.repeat(field.alone, np.diff(field.bounds)) | own
    spread = given * np.repeat(field.noise.variance, sizes)

    def weigh(variance: Floats) -> Floats:
        sigma, noises = np.sqrt(variance), field.of_row.copy()

        def work(first: int, last: int) -> None:
            start, stop = np.searchsorted(rounds.offsets[:-1], (first, last))
            teams = field.describe(start, stop, mean, sigma)
            members = Members(mean, sigma, noises)
            credit_members(teams.start, teams.stop, field.bounds, own, members, field.laws, field.laws.mu[teams], perf)

        map(work, rounds.n_rows)
        return np.where(as_given, given, spread / np.square(noises))

    hidden = np.repeat(field.noise.hidden, sizes)
    return settle(cavities, weigh, np.where(as_given & (hidden == 0.0), given, 0.0), hidden, spread)


class _Field:
    """The teams of all rounds as rows of their fields, and space for what follows from the beliefs about members."""

    def __init__(self, params: Smoothing, rounds: Rounds) -> None:
        assert rounds.teams is not None
        if params.team != "mean":
            raise ValueError(f"smoothing has no rule for contests of teams with team={params.team}; set team=mean")
        self._teams, self.bounds = rounds.teams, rounds.teams.offsets
        self._apart = params.team_noise == "members"
        self.first, self.alone = self.bounds[:-1], np.diff(self.bounds) == 1
        self.offsets = np.searchsorted(self.bounds, rounds.offsets)
        self.lo, self.n = rounds.lo[self.first], len(self.first)
        self.noise = noise(params, rounds)
        self.of_round = np.repeat(self.noise.variance, np.diff(self.offsets))
        self.of_row = np.sqrt(np.repeat(self.noise.variance, np.diff(rounds.offsets)))
        self.variance = np.empty(self.n)
        self.laws = TeamLaws(np.empty(rounds.n_rows), np.empty(self.n), np.empty(self.n), np.empty(self.n))

    def describe(self, start: int, stop: int, mean: Floats, sigma: Floats) -> slice:
        """Write the laws of the teams of rounds ``start`` to ``stop - 1``, and return their rows."""
        a, b = self.offsets[start], self.offsets[stop]
        describe_teams(a, b, self._teams, False, self._apart, Members(mean, sigma, self.of_row), self.laws)
        return slice(a, b)
