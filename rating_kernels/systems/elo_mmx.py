"""Elo-MMchi: Elo-MMR with Gaussian performances, evaluated exactly.

Source: Ebtekar and Liu, "An Elo-like System for Massive Multiplayer Competitions" (arXiv:2101.00400), section 3 with
normal laws throughout and rho = inf. A belief is one normal factor, given by ``mu`` and ``sigma``. A round adds
variance, computes each tie group's performance against the whole field (:mod:`.gaussian`) and takes the weighted mean
of belief and performance. All ratings in rating points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..core.beliefs import Beliefs, Map
from ..core.jit import exact
from ..core.limits import switch
from ..core.margins import margin_rule, sharpen_game
from ..core.parts import keep_belief, prior_of, read_belief
from ..core.standings import Conditions, Floats, Longs, Rounds
from ..core.system import ConvergenceError, Outcome, PerformanceLaw, Prior, System
from ..fields.advantages import perform_in_rating, restore_ratings, to_strengths
from ..inference.elo_mm import EloMMParams, delta, rates, sigma_limit
from ..inference.factors.product import drift
from ..inference.gaussian import no_spans, performances, solve_round
from ..inference.performance import group_starts, ties_of
from ..inference.resets.ratings import reset_beliefs
from ..inference.teams.laws import weigh_members
from ..inference.teams.members import Members
from ..inference.teams.rounds import (
    credit_round,
    fill_field,
    has_teams,
    rate_team_round,
    team_columns,
    team_rules,
    team_space,
)
from ..inference.win_probability import normal_win_probability

SMALL = 1024  # participants up to which one thread is faster


@dataclass(frozen=True, slots=True)
class EloMMX(EloMMParams):
    """Hyperparameters of Elo-MMchi.

    Attributes
    ----------
    ceiling_gaussian : bool
        Whether a round's ``perf_ceiling`` applies; the engine applies it to logistic performances only.
    """

    ceiling_gaussian: bool = field(default=False, metadata=switch())


def win_probability(params: EloMMX, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """Two normal performances around uncertain skills (section 2)."""
    return normal_win_probability(one.mu - other.mu, delta(params, conditions, one), delta(params, conditions, other))


def performance_law(params: EloMMX, conditions: Conditions, participants: Any, prior: Prior) -> PerformanceLaw:
    """Normal around the prior rating (section 3.1)."""
    return PerformanceLaw("normal", prior.mu, delta(params, conditions, prior))


def prior(params: EloMMX, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Step 1: variance grows; compute each performance's beta."""
    _diffuse_rows(start, stop, 0, round.columns, rates(params), beliefs.store, prior)


@dataclass(frozen=True, slots=True)
class Performances:
    """The performances of one round; the sums over opponents are not stored."""

    by_row: ClassVar[tuple[str, ...]] = ()
    first: Longs
    perf: Floats  # one for each tie group
    ceiling: float


def summarise(params: EloMMX, prior: Prior, round: Rounds, map: Map) -> Performances:
    """Steps 2 and 3: the sums over all opponents, and one root for each tie group."""
    first = group_starts(round.lo)
    perf = performances(prior.mu, _inverse_delta(prior.sigma, prior.beta), first, ties_of(params), map)
    return Performances(first, perf, round.perf_ceiling[0] if params.ceiling_gaussian else math.inf)


def perform(params: EloMMX, summary: Performances, start: int, stop: int, perf: Floats) -> None:
    """Step 3: copy the group's performance to each participant."""
    _spread(start, stop, summary.first, summary.perf, summary.ceiling, perf)


def absorb(
    params: EloMMX, beliefs: Beliefs, round: Rounds, prior: Prior, summary: Performances, start: int, stop: int,
    outcome: Outcome,
) -> None:  # fmt: skip
    """Step 4: the mean of belief and performance, weighted by their precisions (section 3.2)."""
    _absorb_rows(start, stop, round.player, round.time_seconds[0], prior, beliefs.store, outcome)


def rate_small(params: EloMMX, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """All four steps for many small rounds in sequence, in one kernel call."""
    failed = _rate_small(
        rounds.columns, margin_rule(params), team_columns(rounds), team_rules(params), rates(params),
        ties_of(params), params.ceiling_gaussian, beliefs.store, outcome,
    )  # fmt: skip
    if failed >= 0:
        raise ConvergenceError("no performance found")


@exact
def _inverse_delta(sigma, beta):
    """1 / sqrt(sigma^2 + beta^2): the inverse deviation of a performance around ``mu``."""
    rate = np.empty(len(sigma))
    for i in range(len(sigma)):
        rate[i] = 1.0 / math.sqrt(sigma[i] * sigma[i] + beta[i] * beta[i])
    return rate


@exact
def _diffuse_rows(begin, end, r, rounds, rates, store, prior):
    for i in range(begin, end):
        row = rounds.player[i]
        gamma2, prior.beta[i] = drift(row, r, rounds, rates, store)
        store.sigma[row] = math.sqrt(store.sigma[row] * store.sigma[row] + gamma2)
        read_belief(i, row, store, prior)


@exact
def _spread(start, stop, first, group_perf, ceiling, perf):
    for g in range(start, stop):
        p = min(group_perf[g], ceiling)
        for j in range(first[g], first[g + 1]):
            perf[j] = p


@exact
def _absorb_rows(begin, end, player, time_seconds, prior, store, outcome):
    beta = prior.beta
    for i in range(begin, end):
        row = player[i]
        variance = prior.sigma[i] * prior.sigma[i]
        gain = variance / (variance + beta[i] * beta[i])
        mu = prior.mu[i] + gain * (outcome.perf[i] - prior.mu[i])
        sigma = beta[i] * math.sqrt(gain)
        keep_belief(i, row, mu, sigma, time_seconds, store, outcome)


@exact
def _rate_small(rounds, margin, teams, team_rules, rates, ties, ceiling_gaussian, store, outcome):
    """Rate all rounds; returns -1, or the round that has no root."""
    zero, player, advantage = np.int64(0), rounds.player, rounds.advantage
    group_perf, rating, space = np.empty(SMALL), np.empty(SMALL), team_space(teams, SMALL)
    prior = prior_of(outcome, np.empty(len(player)))
    members = Members(prior.mu, prior.sigma, prior.beta)
    where, inside = no_spans()
    for r in range(len(rounds.offsets) - 1):
        i, j = rounds.offsets[r], rounds.offsets[r + 1]
        _diffuse_rows(i, j, r, rounds, rates, store, prior)
        if len(advantage) > 0:
            to_strengths(i, j, advantage, prior.mu, rating)
        if margin.kind > 0 and j - i == 2 and not has_teams(r, rounds, teams):
            sharpen_game(r, rounds, margin, prior.mu, prior.beta)
        field, n = space.field, fill_field(r, rounds, teams, team_rules, members, space)
        first = group_starts(field.lo[:n])
        rate = _inverse_delta(field.sigma[:n], field.beta)
        if solve_round(field.mu[:n], rate, first, ties, where, inside, group_perf) >= 0:
            return r
        ceiling = rounds.perf_ceiling[r] if ceiling_gaussian else math.inf
        _spread(zero, len(first) - 1, first, group_perf, ceiling, field.perf)
        credit_round(r, rounds, teams, team_rules, members, outcome.perf, space)
        if len(advantage) > 0:
            restore_ratings(i, j, rating, prior.mu)
            perform_in_rating(i, j, advantage, outcome.perf)
        _absorb_rows(i, j, player, rounds.time_seconds[r], prior, store, outcome)
    return -1


SYSTEM: System = System(
    name="elo-mmx", params=EloMMX, sigma_limit=sigma_limit, uncertainty=1.0,
    prior=prior, summarise=summarise, perform=perform, absorb=absorb, rate_small=rate_small, small=SMALL,
    reset_rows=reset_beliefs, widens=True,
    rate_teams=lambda *given: rate_team_round(SYSTEM, *given), team_laws=weigh_members,
    win_probability=win_probability, performance_law=performance_law, advantages=True, margins="games",
    skips_all_tied=True, ignores=("perf_ceiling",),
)  # fmt: skip
