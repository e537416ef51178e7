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

from ..core.beliefs import Beliefs, History, places_needed
from ..core.jit import exact
from ..core.limits import non_negative, whole
from ..core.standings import Floats, Rounds
from ..core.system import ConvergenceError, Map, Outcome, PerformanceLaw, Prior, System
from ..fields.advantages import perform_in_rating, restore_ratings, to_strengths
from ..inference.elo_mm import EloMMParams, delta, rates, sigma_limit
from ..inference.factors.product import CHUNK, absorb_rows, diffuse_rows, prefetch_histories
from ..inference.game_performance import end_of_games, solve_games
from ..inference.logistic_field import FieldSummary, empty_field, solve_field, solve_small, summarise_field
from ..inference.teams.laws import weigh_members
from ..inference.teams.members import credit_members, describe_teams
from ..inference.teams.rounds import cut_teams, rate_team_round, team_columns, team_rules, team_scratch
from ..inference.win_probability import logistic_win_probability

__all__ = ["SYSTEM", "EloMMR"]

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


def win_probability(params: EloMMR, weight: Any, one: Prior, other: Prior) -> Floats:
    """Two logistic performances around uncertain skills (sections 2 and 3.1)."""
    return logistic_win_probability(one.mu - other.mu, delta(params, weight, one), delta(params, weight, other))


def performance_law(params: EloMMR, weight: Any, participants: Any, prior: Prior) -> PerformanceLaw:
    """Logistic around the prior rating (section 3.1)."""
    return PerformanceLaw("logistic", prior.mu, delta(params, weight, prior))


def prior(params: EloMMR, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Step 1: diffuse the participants' beliefs in place (section 4); compute each performance's beta."""
    diffuse_rows(
        start, stop, len(round.player), round.player, round.time_seconds.copy(), round.weight.copy(), *rates(params),
        params.rho, *_store(beliefs), prior.mu, prior.sigma, prior.beta, prior.n_before,
    )  # fmt: skip


def summarise(params: EloMMR, prior: Prior, round: Rounds, map: Map) -> FieldSummary:
    """Step 2: tabulate the sum over all opponents."""
    return summarise_field(prior.mu, prior.sigma, prior.beta, round, params.tie_mode == "split", map)


def perform(params: EloMMR, summary: FieldSummary, start: int, stop: int, perf: Floats) -> None:
    """Step 3: one root for each tie group."""
    solve_field(summary, params.tie_mode == "split", start, stop, perf)


def absorb(
    params: EloMMR,
    beliefs: Beliefs,
    round: Rounds,
    prior: Prior,
    summary: FieldSummary,
    start: int,
    stop: int,
    outcome: Outcome,
) -> None:
    """Step 4: append the performance, merge the oldest factors, find the mode (section 3.2)."""
    history = _history(beliefs)
    claimed = history.allocate(history.places_needed(start, stop, round.player))
    failed = absorb_rows(
        start, stop, len(round.player), round.player, round.time_seconds.copy(), params.history_len or 0, claimed,
        prior.mu, prior.sigma, prior.beta, outcome.perf, *_store(beliefs), outcome.mu, outcome.sigma,
    )  # fmt: skip
    if failed >= 0:
        raise ConvergenceError("no rating found", int(failed))


def rate_small(params: EloMMR, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """All four steps for many small rounds in sequence, in one kernel call."""
    done, bound, history = 0, params.history_len or 0, _history(beliefs)
    while done < len(rounds):
        done, needed = _rate_small(
            done, rounds.offsets, rounds.player, rounds.lo, rounds.time_seconds, rounds.weight, rounds.perf_ceiling,
            rounds.advantage, *team_columns(rounds), *team_rules(params),
            *rates(params), params.rho, params.tie_mode == "split", bound, history.used, *_store(beliefs), outcome.perf,
            outcome.mu_prior, outcome.sigma_prior, outcome.mu, outcome.sigma, outcome.n_before,
        )  # fmt: skip
        if needed < 0:
            raise ConvergenceError("no performance or no rating found")
        history.reserve(needed)


def rate_teams(params: EloMMR, beliefs: Beliefs, round: Rounds, map: Map, outcome: Outcome) -> None:
    """All four steps for a round of teams, which are the rows of the field."""
    rate_team_round(SYSTEM, params, beliefs, round, map, outcome)


def compile_last_steps(params: EloMMR, beliefs: Beliefs) -> None:
    """Steps 4 and 3 for zero participants."""
    round, outcome, summary = Rounds.from_columns([0, 1], [0], [0], [0]), Outcome.empty(1), empty_field()
    absorb(params, beliefs, round, outcome.prior, summary, 0, 0, outcome)
    perform(params, summary, 0, 0, outcome.perf)


def _history(beliefs: Beliefs) -> History:
    assert beliefs.history is not None
    return beliefs.history


def _store(beliefs: Beliefs) -> tuple[Any, ...]:
    history, state = _history(beliefs), beliefs.state
    return (
        *beliefs.arrays,
        state["normal_mu"], state["normal_weight"], state["slope"], state["shrink"],
        *history.arrays,
    )  # fmt: skip


@exact
def _rate_small(
    r, offsets, player, lo, time_seconds, weight, perf_ceiling, advantage, team, bounds, share, best, apart, own,
    a, b, c, d, delay, rho, split, bound, used,
    mu, sigma, n_rounds, last_time, normal_mu, normal_weight, slope, shrink, start, length, capacity, pool,
    performance, mu_prior, sigma_prior, mu_after, sigma_after, n_before,
):  # fmt: skip
    """Rate from round ``r`` on; returns the next round and the pool places that it requires, -1 if it has no root.

    Consecutive games of two without a common player take each step together (:mod:`..inference.game_performance`): they
    fill a chunk of rows. The results are those of one game after the other.
    """
    zero, parts = np.int64(0), np.int64(3)
    beta, omega, rating, scratch = np.empty(SMALL), np.empty(SMALL), np.empty(SMALL), team_scratch(SMALL)
    cuts, team_places, member_weight, team_mu, team_sigma, team_beta, team_perf = scratch
    while r < len(offsets) - 1:
        stop = end_of_games(r, offsets, player, team)
        i, j = offsets[r], offsets[stop]
        n, per_round, rows = j - i, offsets[r + 1] - i, player[i:j]
        needed = places_needed(zero, n, rows, length, capacity, parts)
        if used[0] + needed > len(pool):
            return r, needed
        prefetch_histories(zero, min(n, CHUNK), rows, start, length, capacity, pool)
        diffuse_rows(
            zero, n, per_round, rows, time_seconds[r:stop], weight[r:stop], a, b, c, d, delay, rho,
            mu, sigma, n_rounds, last_time, normal_mu, normal_weight, slope, shrink,
            start, length, capacity, pool, mu_prior[i:j], sigma_prior[i:j], beta, n_before[i:j],
        )  # fmt: skip
        m, before, spread, failed = team[stop] - team[r], mu_prior[i:j], sigma_prior[i:j], -1
        if len(advantage) > 0:
            to_strengths(i, j, advantage, mu_prior, rating)
        if m == n and per_round == 2:
            failed = solve_games(
                stop - r, before, spread, beta, lo[i:j], split, perf_ceiling[r:stop], performance[i:j]
            )  # fmt: skip
            if failed >= 0:
                n = 2 * failed  # the games before it are complete
        else:
            mean, width, noise, places, perf = before, spread, beta[:n], lo[i:j], performance[i:j]
            if m < n:
                cut_teams(team[r], team[stop], i, bounds, places, cuts, team_places)
                mean, width, noise, places, perf = (
                    team_mu[:m], team_sigma[:m], team_beta[:m], team_places[:m], team_perf[:m]
                )  # fmt: skip
                describe_teams(
                    zero, m, cuts, share[i:j], best, apart, before, spread, beta, member_weight, mean, width, noise
                )  # fmt: skip
            failed = solve_small(mean, width, noise, places, split, perf_ceiling[r], omega, perf)
            if m < n:
                credit_members(
                    zero, m, cuts, own, member_weight, before, spread, mean, noise, perf, beta, performance[i:j]
                )  # fmt: skip
            if failed >= 0:
                n = 0
        if len(advantage) > 0:
            restore_ratings(i, j, rating, mu_prior)
            perform_in_rating(i, j, advantage, performance)
        claimed = used[0]
        used[0] += needed
        absorbed = absorb_rows(
            zero, n, per_round, rows, time_seconds[r:stop], bound, claimed, mu_prior[i:j], sigma_prior[i:j], beta,
            performance[i:j], mu, sigma, n_rounds, last_time, normal_mu, normal_weight, slope, shrink,
            start, length, capacity, pool, mu_after[i:j], sigma_after[i:j],
        )  # fmt: skip
        if failed >= 0 or absorbed >= 0:
            return r, -1
        r = stop
    return r, 0


SYSTEM = System(
    name="elo-mmr", params=EloMMR, state=state, sigma_limit=sigma_limit,
    prior=prior, summarise=summarise, perform=perform, absorb=absorb, rate_small=rate_small, small=SMALL,
    rate_teams=rate_teams, team_laws=weigh_members,
    win_probability=win_probability, performance_law=performance_law, advantages=True,
    history=("perf", "force", "inverse_width"), skips_all_tied=True,
    compile_last_steps=compile_last_steps,
)  # fmt: skip
