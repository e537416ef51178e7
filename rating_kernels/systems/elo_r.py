"""Elo-R: past performances as a queue of logistic factors, with noise that does not change the rating.

Source: "Elo-R Competition Rating System" (2015, revised 2020). All standard deviations are in its barred units: a
logistic factor of centre mu and width tau is proportional to cosh((s - mu) / tau)^-2 and weighs 1 / tau^2. A round adds
noise (:mod:`.noise`), computes every player's performance and appends it to the queue (:mod:`.queues`). The performance
of player i is the root of

    sum_won (tanh_j - 1) / delta_j + sum_lost (tanh_j + 1) / delta_j = 0,   tanh_j = tanh((p - r_j) / delta_j),

in which the player counts in both sums, and a tie counts as half a win and half a loss ("half") or as both ("full").
With omega = 2 / delta and F_j = (1 + tanh_j) / 2 its left side is -Q(p), where

    Q(p) = S(p) - A - sum_own omega_j F_j(p) = B - M(p) + sum_own omega_j (1 - F_j(p))

as in :mod:`.performance`: S and M are the field's weights above and below ``p``, "own" are the players that count
twice, and A and B are the weights of all others that finished above and below, where a half tie adds one half to each.
Neither form subtracts large numbers: the left form is used above the field's middle, the right one below. All ratings
in rating points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..core.beliefs import Beliefs, Map, places_needed
from ..core.jit import exact
from ..core.limits import POINTS, choice, finite, later, non_negative, positive, whole
from ..core.margins import MarginParams, margin_rule, sharpen_game
from ..core.numerics import C3
from ..core.parts import prior_of
from ..core.standings import Conditions, Floats, Rounds
from ..core.system import ConvergenceError, Outcome, PerformanceLaw, Prior, System, check_limits
from ..inference.factors.noise import noise_rows
from ..inference.factors.queues import QueueFactors, absorb_rows
from ..inference.logistic_field import FieldSummary, solve_field, tabulate_field
from ..inference.performance import FULL, SPLIT, Ranks, bracket, group_starts, solve_groups, weigh_groups, without_table
from ..inference.resets.products import reset_queues
from ..inference.win_probability import logistic_win_probability

SMALL = 192  # participants up to which one thread without a table is faster


@dataclass(frozen=True, slots=True)
class EloR(MarginParams):
    """Hyperparameters of Elo-R. The attribute ``gamma`` of a player takes the place of that of the run.

    Attributes
    ----------
    gamma : float
        Width of a performance around skill, in a round of weight 1; rating points, > ``sigma_star``.
    sigma_star : float
        Limit of sigma after many rounds, rating points >= 0; determines the drift of skills. 0: no drift.
    noise : str
        "exact": noise keeps the mode. "simple": noise widens all factors by the same ratio, and outliers gain weight.
    tie_mode : str
        "half": a tie is half a win and half a loss; tied players have different performances. "full": a tie is a win
        and a loss; tied players share one performance.
    max_len : int or None
        Maximum number of separate factors including the normal one, at least 2; None keeps all above rounding error
        (all, if skills never drift).
    mu_init : float
        Rating of a newcomer.
    sigma_init : float
        Standard deviation of a newcomer's skill around ``mu_init``.
    drift_per_day : float
        Variance added by idle time, in the units of ``sigma_star`` squared, a day; by the rule of ``noise``.
    """

    gamma: float = field(default=250.0, metadata=positive(POINTS))
    sigma_star: float = field(default=100.0, metadata=non_negative(POINTS))
    noise: str = field(default="exact", metadata=choice("exact", "simple"))
    tie_mode: str = field(default="half", metadata=choice("half", "full"))
    max_len: int | None = field(default=None, metadata=whole(2, unit="factors"))
    mu_init: float = field(default=1500.0, metadata=finite(POINTS))
    sigma_init: float = field(default=350.0, metadata=positive(POINTS))
    drift_per_day: float = field(default=0.0, metadata=later(non_negative("squared rating points a day")))

    def __post_init__(self) -> None:
        check_limits(self)
        if not self.gamma > self.sigma_star:
            raise ValueError(f"gamma must be > sigma_star ({self.sigma_star} rating points), got {self.gamma}")


def state(params: EloR, mu: Floats, sigma: Floats) -> dict[str, Floats]:
    """One normal factor, no performances, and the gamma of the run."""
    own = np.full_like(mu, np.nan)
    return {"normal_mu": mu, "normal_weight": sigma**-2.0, "slope": sigma**-2.0, "gamma": own}


def sigma_limit(params: EloR) -> float:
    """Limit of sigma after many rounds of any weights."""
    return params.sigma_star


def spread(params: EloR, weight: float, precision: float) -> tuple[float, float]:
    """gamma of a round of this weight, and the corresponding eta^2 = 1 / (1 / sigma*^2 - 1 / gamma^2) - sigma*^2.

    In the source contests may differ in gamma. A weight w selects the gamma for which eta^2 is proportional to w:
    gamma^2 - sigma*^2 is proportional to 1 / w, as in Elo-MMR with given limits. sigma* stays the fixed point.
    A precision divides gamma^2 alone.
    """
    gap = (params.gamma**2 - params.sigma_star**2) / weight
    return math.sqrt((params.sigma_star**2 + gap) / precision), params.sigma_star**4 / gap


def win_probability(params: EloR, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """Two logistic performances; the scale of this law is half of the source's delta."""
    gamma2 = _variance(params, conditions)
    deltas = [np.sqrt(prior.sigma**2 + gamma2) for prior in (one, other)]
    return logistic_win_probability(one.mu - other.mu, *(0.5 * C3 * delta for delta in deltas))


def performance_law(params: EloR, conditions: Conditions, participants: Any, prior: Prior) -> PerformanceLaw:
    """Logistic around the prior rating, of the scale of ``win_probability``."""
    return PerformanceLaw("logistic", prior.mu, 0.5 * C3 * np.sqrt(prior.sigma**2 + _variance(params, conditions)))


def _variance(params: EloR, conditions: Conditions) -> Any:
    """gamma^2 of rounds; see :func:`spread`."""
    gap = (params.gamma**2 - params.sigma_star**2) / conditions.weight
    return (params.sigma_star**2 + gap) / conditions.precision


def prior(params: EloR, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Step 1: add noise to the participants' beliefs, in place; compute each performance's gamma."""
    gamma, eta2 = spread(params, *round.conditions.take(0))
    failed = noise_rows(
        start, stop, round.player, round.time_seconds[0], eta2, params.drift_per_day, params.noise == "simple",
        beliefs.store, _queue(beliefs), beliefs.segments, prior,
    )  # fmt: skip
    if failed >= 0:
        raise ConvergenceError("no noise found", int(failed))
    _gamma_rows(start, stop, 0, round.columns, beliefs.column("gamma"), params.gamma, gamma, eta2, prior.beta)


def summarise(params: EloR, prior: Prior, round: Rounds, map: Map) -> FieldSummary:
    """Step 2: tabulate the sum over all opponents. Half ties leave each player with a root of its own."""
    half = params.tie_mode == "half"
    whole = tabulate_field(prior.mu, _omega(prior.sigma, prior.beta), round, SPLIT if half else FULL, map)
    return replace(whole, ranks=Ranks(*whole.ranks[:2], *_single_out(*whole.ranks[1:]))) if half else whole


def perform(params: EloR, summary: FieldSummary, start: int, stop: int, perf: Floats) -> None:
    """Step 3: one root for each player or tie group."""
    if params.tie_mode == "half":
        start, stop = summary.first[start], summary.first[stop]
    solve_field(summary, FULL, start, stop, perf)


def absorb(
    params: EloR, beliefs: Beliefs, round: Rounds, prior: Prior, summary: FieldSummary, start: int, stop: int,
    outcome: Outcome,
) -> None:  # fmt: skip
    """Step 4: append the performance, merge the oldest factors, find the mode."""
    failed = absorb_rows(
        start, stop, round.player, round.time_seconds[0], params.max_len or 0,
        beliefs.allocate(start, stop, round.player), prior, beliefs.store, _queue(beliefs), beliefs.segments, outcome,
    )  # fmt: skip
    if failed >= 0:
        raise ConvergenceError("no rating found", int(failed))


def rate_small(params: EloR, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """All four steps for many small rounds in sequence, in one kernel call."""
    assert beliefs.history is not None
    # contiguous for any number of rounds: a second compilation would be due for other layouts
    gamma, eta2 = np.array([spread(params, *of_round) for of_round in zip(*rounds.conditions, strict=True)]).T.copy()
    done = 0
    while done < len(rounds):
        done, needed = _rate_small(
            done, rounds.columns, margin_rule(params), beliefs.column("gamma"), params.gamma, gamma, eta2,
            params.drift_per_day, params.noise == "simple", params.tie_mode == "half", params.max_len or 0,
            beliefs.store, _queue(beliefs), beliefs.segments, outcome,
        )  # fmt: skip
        if needed < 0:
            raise ConvergenceError("no performance or no rating found")
        beliefs.history.reserve(needed)


def _queue(beliefs: Beliefs) -> QueueFactors:
    return QueueFactors(*map(beliefs.column, QueueFactors._fields))


@exact
def _gamma_rows(begin, end, r, rounds, own, usual, gamma, eta2, beta):
    """Write the gamma of each performance in round ``r``: ``gamma``, or what a player's own makes of it.

    ``usual`` is that of the run. With e = eta^2 in a round of weight 1, a player's sigma tends to the sigma* with
    sigma*^2 = (-e + sqrt(e^2 + 4 e gamma^2)) / 2; then gamma^2 - sigma*^2 = sigma*^4 / e, which the weight divides
    (:func:`spread`).
    """
    weight, precision = rounds.weight[r], rounds.precision[r]
    for i in range(begin, end):
        mine = own[rounds.player[i]]
        if math.isnan(mine) or mine == usual:
            beta[i] = gamma
        elif eta2 > 0.0:
            limit = 2.0 * mine * mine / (1.0 + math.sqrt(1.0 + 4.0 * mine * mine * weight / eta2))
            beta[i] = math.sqrt((limit + limit * limit / eta2) / precision)
        else:
            beta[i] = mine / math.sqrt(weight * precision)


@exact
def _omega(sigma, gamma):
    """2 / delta, where delta^2 = sigma^2 + gamma^2: the inverse scale of a performance around ``mu``."""
    omega = np.empty(len(sigma))
    for i in range(len(sigma)):
        omega[i] = 2.0 / math.sqrt(sigma[i] * sigma[i] + gamma[i] * gamma[i])
    return omega


@exact
def _single_out(omega, first, group_above, group_below):
    """Single players as sets, with the weights above and below: half of the other tied weights on either side."""
    n = len(omega)
    above, below = np.empty(n), np.empty(n)
    for g in range(len(first) - 1):
        tied = 0.0
        for i in range(first[g], first[g + 1]):
            tied += omega[i]
        for i in range(first[g], first[g + 1]):
            others = 0.5 * (tied - omega[i])
            above[i], below[i] = group_above[g] + others, group_below[g] + others
    return np.arange(n + 1), above, below


@exact
def _rate_small(
    r, rounds, margin, own, usual, gamma, eta2, drift, simple, half, max_len, store, queue, history, outcome
):  # fmt: skip
    """Rate from round ``r`` on; returns the next round and the pool places that it requires, -1 if it has no root."""
    zero, parts, no = np.int64(0), np.int64(2), np.bool_(False)
    player, prior = rounds.player, prior_of(outcome, np.empty(len(rounds.player)))
    while r < len(rounds.offsets) - 1:
        i, j = rounds.offsets[r], rounds.offsets[r + 1]
        needed = places_needed(i, j, player, history, parts)
        if history.used[0] + needed > len(history.pool):
            return r, needed
        time = rounds.time_seconds[r]
        if noise_rows(i, j, player, time, eta2[r], drift, simple, store, queue, history, prior) >= 0:
            return r, -1
        _gamma_rows(i, j, r, rounds, own, usual, gamma[r], eta2[r], prior.beta)
        if margin.kind > 0 and j - i == 2:
            sharpen_game(r, rounds, margin, prior.mu, prior.beta)
        mu, omega = prior.mu[i:j], _omega(prior.sigma[i:j], prior.beta[i:j])
        first = group_starts(rounds.lo[i:j])
        above, below = weigh_groups(omega, first)
        low, high, middle, top_rate, _ = bracket(mu, omega, above, below, SPLIT if half else FULL)
        if half:
            first, above, below = _single_out(omega, first, above, below)
        ranks, bounds = Ranks(mu, omega, first, above, below), without_table(low, high, middle, top_rate)
        failed = solve_groups(zero, len(above), ranks, FULL, rounds.perf_ceiling[r], no, bounds, outcome.perf[i:j])
        if failed < 0:
            claimed = history.used[0]
            history.used[0] += needed
            failed = absorb_rows(i, j, player, time, max_len, claimed, prior, store, queue, history, outcome)
        if failed >= 0:
            return r, -1
        r += 1
    return r, 0


SYSTEM = System(
    name="elo-r", params=EloR, state=state, sigma_limit=sigma_limit, uncertainty=0.5 * C3,
    prior=prior, summarise=summarise, perform=perform, absorb=absorb, rate_small=rate_small, small=SMALL,
    reset_rows=reset_queues, widens=True,
    win_probability=win_probability, performance_law=performance_law, margins="games",
    history=("perf", "inverse_tau"), deviations=2.0, skips_all_tied=True,
    attributes=(("gamma", "gamma", positive(POINTS)["limits"]),), above=lambda params: {"gamma": params.sigma_star},
)  # fmt: skip
