"""Elo-MMR(rho) with logistic performances, evaluated exactly.

Source: Ebtekar and Liu, "An Elo-like System for Massive Multiplayer Competitions" (arXiv:2101.00400). A belief is a
normal factor times a history of logistic factors. A round diffuses the belief (:mod:`.factors`), computes each tie
group's performance against the whole field (:mod:`.performance`) and multiplies the belief by one more factor. The
paper samples opponents; here the sum over all opponents is one tabulated function (:mod:`.field`). All ratings in
rating points.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.beliefs import Beliefs, Map, places_needed
from ..core.jit import exact
from ..core.limits import non_negative, whole
from ..core.margins import margin_rule, sharpen_game
from ..core.parts import prior_of
from ..core.standings import Conditions, Floats, Rounds
from ..core.system import ConvergenceError, Outcome, PerformanceLaw, Prior, System
from ..fields.advantages import perform_in_rating, restore_ratings, to_strengths
from ..inference.elo_mm import EloMMParams, delta, rates, sigma_limit
from ..inference.factors.product import CHUNK, Factors, absorb_rows, diffuse_rows, prefetch_histories
from ..inference.game_performance import end_of_games, solve_games
from ..inference.logistic_field import FieldSummary, empty_field, solve_field, solve_small, summarise_field
from ..inference.performance import ties_of
from ..inference.resets.products import reset_products
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
from ..inference.win_probability import logistic_win_probability

SMALL = 1024  # participants up to which one thread is faster


@dataclass(frozen=True, slots=True)
class EloMMR(EloMMParams):
    """Hyperparameters of Elo-MMR.

    Attributes
    ----------
    rho : float
        Transfer rate, 0 to inf: how fast logistic factors become normal. 0: never, inf: immediately (memoryless).
    history_len : int or None
        Maximum number of separate past performances; None keeps all above rounding error (all, if skills never drift).
    """

    rho: float = field(default=1.0, metadata=non_negative(infinite=True))
    history_len: int | None = field(default=None, metadata=whole(1, unit="performances"))


def state(params: EloMMR, mu: Floats, sigma: Floats) -> dict[str, Floats]:
    """One normal factor and no history."""
    return {"normal_mu": mu, "normal_weight": sigma**-2.0, "slope": sigma**-2.0, "shrink": np.ones_like(mu)}


def win_probability(params: EloMMR, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """Two logistic performances around uncertain skills (sections 2 and 3.1)."""
    return logistic_win_probability(one.mu - other.mu, delta(params, conditions, one), delta(params, conditions, other))


def performance_law(params: EloMMR, conditions: Conditions, participants: Any, prior: Prior) -> PerformanceLaw:
    """Logistic around the prior rating (section 3.1)."""
    return PerformanceLaw("logistic", prior.mu, delta(params, conditions, prior))


def prior(params: EloMMR, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Step 1: diffuse the participants' beliefs in place (section 4); compute each performance's beta."""
    diffuse_rows(
        start, stop, 0, round.columns, rates(params), params.rho, beliefs.store, _factors(beliefs),
        beliefs.segments, prior,
    )  # fmt: skip


def summarise(params: EloMMR, prior: Prior, round: Rounds, map: Map) -> FieldSummary:
    """Step 2: tabulate the sum over all opponents."""
    return summarise_field(prior.mu, prior.sigma, prior.beta, round, ties_of(params), map)


def perform(params: EloMMR, summary: FieldSummary, start: int, stop: int, perf: Floats) -> None:
    """Step 3: one root for each tie group."""
    solve_field(summary, ties_of(params), start, stop, perf)


def absorb(
    params: EloMMR, beliefs: Beliefs, round: Rounds, prior: Prior, summary: FieldSummary, start: int, stop: int,
    outcome: Outcome,
) -> None:  # fmt: skip
    """Step 4: append the performance, merge the oldest factors, find the mode (section 3.2)."""
    failed = absorb_rows(
        start, stop, 0, round.columns, params.history_len or 0, beliefs.allocate(start, stop, round.player),
        prior, beliefs.store, _factors(beliefs), beliefs.segments, outcome,
    )  # fmt: skip
    if failed >= 0:
        raise ConvergenceError("no rating found", int(failed))


def rate_small(params: EloMMR, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """All four steps for many small rounds in sequence, in one kernel call."""
    assert beliefs.history is not None
    done = 0
    while done < len(rounds):
        done, needed = _rate_small(
            done, rounds.columns, margin_rule(params), team_columns(rounds), team_rules(params), rates(params),
            params.rho, ties_of(params), params.history_len or 0, beliefs.store, _factors(beliefs),
            beliefs.segments, outcome,
        )  # fmt: skip
        if needed < 0:
            raise ConvergenceError("no performance or no rating found")
        beliefs.history.reserve(needed)


def _factors(beliefs: Beliefs) -> Factors:
    return Factors(*map(beliefs.column, Factors._fields))


@exact
def _rate_small(
    r, rounds, margin, teams, team_rules, rates, rho, ties, history_len, store, factors, history, outcome
):  # fmt: skip
    """Rate from round ``r`` on; returns the next round and the pool places that it requires, -1 if it has no root.

    Consecutive games of two without a common player take each step together (:mod:`..inference.game_performance`): they
    fill a chunk of rows. The results are those of one game after the other.
    """
    parts, player, advantage = np.int64(3), rounds.player, rounds.advantage
    omega, rating, space = np.empty(SMALL), np.empty(SMALL), team_space(teams, SMALL)
    prior = prior_of(outcome, np.empty(len(player)))
    members = Members(prior.mu, prior.sigma, prior.beta)
    while r < len(rounds.offsets) - 1:
        stop = end_of_games(r, rounds.offsets, player, teams.first)
        i, j = rounds.offsets[r], rounds.offsets[stop]
        needed = places_needed(i, j, player, history, parts)
        if history.used[0] + needed > len(history.pool):
            return r, needed
        prefetch_histories(i, min(j, i + CHUNK), player, history)
        diffuse_rows(i, j, r, rounds, rates, rho, store, factors, history, prior)
        if len(advantage) > 0:
            to_strengths(i, j, advantage, prior.mu, rating)
        solved = j
        if rounds.offsets[r + 1] - i == 2 and not has_teams(r, rounds, teams):
            if margin.kind > 0:
                for one in range(r, stop):
                    sharpen_game(one, rounds, margin, prior.mu, prior.beta)
            failed = solve_games(r, stop, rounds, prior.mu, prior.sigma, prior.beta, ties, outcome.perf)
            if failed >= 0:
                solved = i + 2 * failed  # the games before it are complete
        else:
            field, n = space.field, fill_field(r, rounds, teams, team_rules, members, space)
            failed = solve_small(field, n, ties, rounds.perf_ceiling[r], omega)
            credit_round(r, rounds, teams, team_rules, members, outcome.perf, space)
            if failed >= 0:
                solved = i
        if len(advantage) > 0:
            restore_ratings(i, j, rating, prior.mu)
            perform_in_rating(i, j, advantage, outcome.perf)
        claimed = history.used[0]
        history.used[0] += needed
        absorbed = absorb_rows(i, solved, r, rounds, history_len, claimed, prior, store, factors, history, outcome)
        if failed >= 0 or absorbed >= 0:
            return r, -1
        r = stop
    return r, 0


SYSTEM: System = System(
    name="elo-mmr", params=EloMMR, state=state, sigma_limit=sigma_limit, uncertainty=1.0,
    prior=prior, summarise=summarise, perform=perform, absorb=absorb, rate_small=rate_small, small=SMALL,
    reset_rows=reset_products, widens=True,
    rate_teams=lambda *given: rate_team_round(SYSTEM, *given), team_laws=weigh_members,
    win_probability=win_probability, performance_law=performance_law, advantages=True, margins="games",
    history=("perf", "force", "inverse_width"), skips_all_tied=True,
    empty_summary=empty_field,
)  # fmt: skip
