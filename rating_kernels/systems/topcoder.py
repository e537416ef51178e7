"""TopCoder's rating of algorithm matches, as published and as in the engine of Elo-MMR's authors.

Source: TopCoder, "Algorithm Competition Rating System"; Ebtekar and Liu, "An Elo-like System for Massive Multiplayer
Competitions" (arXiv:2101.00400), whose engine adds a weight and a ceiling for contests and makes two constants
parameters. A coder has a rating and a volatility. A round compares the expected rank with the actual rank, both as
normal quantiles, and moves the rating towards the resulting performance.

Volatility grows with every surprise and increases later changes of the rating, so that losing on purpose can pay
(section 5.1 of the paper): the system is not monotone. All ratings in rating points.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.beliefs import Beliefs, Map
from ..core.jit import exact, inner_exact, kernel
from ..core.limits import POINTS, finite, fraction, positive, switch
from ..core.numerics import normal_quantile
from ..core.parts import keep_belief, prior_of, read_belief
from ..core.standings import Conditions, Floats, Ints, Longs, Rounds
from ..core.system import ConvergenceError, Outcome, PerformanceLaw, Prior, System, check_limits
from ..fields.pairs.pair_field import pair_sums
from ..fields.pairs.terms import NORMAL, direct_sums
from ..inference.performance import group_starts
from ..inference.resets.ratings import reset_beliefs
from ..inference.win_probability import normal_win_probability

SMALL = 512  # participants up to which sums term by term are faster than a table
VETERANS, ALL = 0, 1  # the two fields of a round
LEAST = 1e-300  # variance; below it the win probability against an equal is 0 / 0


@dataclass(frozen=True, slots=True)
class TopCoder:
    """Hyperparameters of TopCoder's system; the defaults are the engine's, :meth:`published` has TopCoder's.

    Attributes
    ----------
    weight_noob : float
        Weight of the performance in the new rating in a coder's first round.
    weight_limit : float
        The same after very many rounds. In round t: weight_limit + (weight_noob - weight_limit) / t, reduced from 2000
        points on.
    weight_multiplier : float
        Factor on the weight W = share / (1 - share) of a performance, > 0; has no effect on caps.
    vol_after_cap : bool
        Whether volatility depends on the change of the rating after the cap (published) or before (engine).
    two_phase : bool
        Whether coders rated before are rated among themselves, without newcomers, and newcomers against all
        (published); or all against all (engine).
    published_constants : bool
        Whether coders start at 1200 with volatility 515 and weights fall to 80 % above 2500 points (published); or
        start at 1500 with 350, and 80 % is for 2500 too (engine).
    mu_init : float or None
        Rating of a newcomer; None: by ``published_constants``.
    sigma_init : float or None
        Volatility of a newcomer; None: by ``published_constants``.

    Notes
    -----
    The published rule has neither weights nor ceilings of contests; they act as in the engine. A volatility of 385
    after the first match, which some sources mention, is not part of the published rule.
    """

    weight_noob: float = dataclasses.field(default=0.6, metadata=fraction())
    weight_limit: float = dataclasses.field(default=0.18, metadata=fraction())
    weight_multiplier: float = dataclasses.field(default=1.0, metadata=positive())
    vol_after_cap: bool = dataclasses.field(default=False, metadata=switch())
    two_phase: bool = dataclasses.field(default=False, metadata=switch())
    published_constants: bool = dataclasses.field(default=False, metadata=switch())
    mu_init: float | None = dataclasses.field(default=None, metadata=finite(POINTS))
    sigma_init: float | None = dataclasses.field(default=None, metadata=positive(POINTS))

    def __post_init__(self) -> None:
        mu, sigma = (1200.0, 515.0) if self.published_constants else (1500.0, 350.0)
        mu = mu if self.mu_init is None else self.mu_init
        sigma = sigma if self.sigma_init is None else self.sigma_init
        object.__setattr__(self, "mu_init", mu)
        object.__setattr__(self, "sigma_init", sigma)
        check_limits(self)

    @classmethod
    def published(cls) -> TopCoder:
        """The system as TopCoder publishes it."""
        return cls(vol_after_cap=True, two_phase=True, published_constants=True)


def win_probability(params: TopCoder, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """WP of the rule: two normal performances with the volatilities as deviations."""
    return normal_win_probability(np.sqrt(conditions.weight) * (one.mu - other.mu), one.sigma, other.sigma)


def performance_law(params: TopCoder, conditions: Conditions, participants: Any, prior: Prior) -> PerformanceLaw:
    """Normal with the volatility as deviation."""
    return PerformanceLaw("normal", prior.mu, prior.sigma / np.sqrt(conditions.weight))


def prior(params: TopCoder, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Step 1: beliefs do not change."""
    failed = _read_rows(start, stop, round.player, round.weight[0], beliefs.store, prior)
    if failed >= 0:
        raise _undefined(int(failed), float(prior.sigma[failed]))


@dataclass(frozen=True, slots=True)
class Field:
    """Expected ranks in one round, and the number of participants above each tie group.

    A round has two fields: veterans, and all participants. A veteran belongs to the first field if veterans are rated
    ``apart``; all other participants belong to the second.

    ``first`` (int64[groups + 1]): first row of each tie group, and the number of rows.
    ``counts`` (int64[groups + 1, 2]): members of each field above each tie group, then the total.
    ``factor`` (float64[2]): competition factor of each field, rating points.
    ``better`` (float64[n]): expected number of better members of the field, including oneself with 1/2.
    """

    by_row: ClassVar[tuple[str, ...]] = ()
    first: Longs
    counts: Longs
    factor: Floats
    better: Floats
    mu: Floats
    n_before: Ints
    apart: bool
    ceiling: float


def summarise(params: TopCoder, prior: Prior, round: Rounds, map: Map) -> Field:
    """Step 2: the expected ranks, one sum over all pairs and a second one if veterans are rated apart."""
    mu, sigma, first = prior.mu, prior.sigma, group_starts(round.lo)
    counts = _count(first, prior.n_before)
    apart = bool(params.two_phase and 0 < counts[-1, VETERANS] < len(mu))
    variance, ones = sigma * sigma / round.weight[0], np.ones(len(mu))
    factor = np.full(2, competition_factor(mu, sigma, ones))
    (better,) = pair_sums(["normal"], mu, variance, map)
    if apart:
        veteran = prior.n_before > 0
        member = veteran.astype(np.float64)
        factor[VETERANS] = competition_factor(mu, sigma, member)
        better = np.where(veteran, pair_sums(["normal"], mu, variance, map, member)[0], better)
    return Field(first, counts, factor, better, mu, prior.n_before, apart, round.perf_ceiling[0])


def perform(params: TopCoder, summary: Field, start: int, stop: int, perf: Floats) -> None:
    """Step 3: actual and expected rank as normal quantiles, APerf and EPerf; their difference as a rating."""
    s = summary
    _perform_groups(start, stop, s.first, s.counts, s.factor, s.better, s.mu, s.n_before, s.apart, s.ceiling, perf)


def absorb(
    params: TopCoder, beliefs: Beliefs, round: Rounds, prior: Prior, summary: Field, start: int, stop: int,
    outcome: Outcome,
) -> None:  # fmt: skip
    """Step 4: the capped mean of rating and performance, and the new volatility."""
    _absorb_rows(
        start, stop, round.player, round.time_seconds[0], round.weight[0], _rule(params), prior, beliefs.store, outcome
    )


def rate_small(params: TopCoder, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """All four steps for many small rounds in sequence, in one kernel call."""
    failed = _rate_small(rounds.columns, params.two_phase, _rule(params), beliefs.store, outcome)
    if failed >= 0:
        of_round = failed - rounds.offsets[np.searchsorted(rounds.offsets, failed, side="right") - 1]
        raise _undefined(int(of_round), float(outcome.sigma_prior[failed]))


class TopCoderRule(NamedTuple):
    """Hyperparameters of the weight of a performance, for kernels."""

    noob: float
    limit: float
    multiplier: float
    published: bool
    vol_after_cap: bool


def _rule(params: TopCoder) -> TopCoderRule:
    p = params
    return TopCoderRule(p.weight_noob, p.weight_limit, p.weight_multiplier, p.published_constants, p.vol_after_cap)


def _undefined(row: int, sigma: float) -> ConvergenceError:
    return ConvergenceError(f"sigma must be > 0 rating points where win probabilities follow from it, got {sigma}", row)


@exact
def _read_rows(begin, end, player, weight, store, prior):
    """Returns -1, or the first row whose win probabilities are undefined."""
    for i in range(begin, end):
        row = player[i]
        read_belief(i, row, store, prior)
        if not store.sigma[row] * store.sigma[row] / weight > LEAST:
            return i
    return -1


@exact
def _count(first, n_before):
    counts = np.zeros((len(first), 2), dtype=np.int64)
    for g in range(len(first) - 1):
        veterans = counts[g, VETERANS]
        for i in range(first[g], first[g + 1]):
            veterans += n_before[i] > 0
        counts[g + 1, VETERANS], counts[g + 1, ALL] = veterans, first[g + 1]
    return counts


@kernel
def competition_factor(mu, sigma, member):
    """Spread of the ratings of a field, between coders and within, rating points; ``member`` is 1.0 or 0.0."""
    n, total, within, between = 0.0, 0.0, 0.0, 0.0
    for i in range(len(mu)):
        n += member[i]
        total += member[i] * mu[i]
        within += member[i] * sigma[i] * sigma[i]
    mean = total / n
    for i in range(len(mu)):
        between += member[i] * (mu[i] - mean) * (mu[i] - mean)
    return math.sqrt(within / n + between / max(n - 1.0, 1.0))


@exact
def _perform_groups(start, stop, first, counts, factor, better, mu, n_before, apart, ceiling, perf):
    size, reached = counts[-1], np.empty(2)
    for g in range(start, stop):
        for field in range(VETERANS if apart else ALL, 2):
            n, middle = size[field], 0.5 * (counts[g, field] + counts[g + 1, field])
            if counts[g + 1, field] > counts[g, field]:
                reached[field] = normal_quantile((n - middle) / n, middle / n)
        for i in range(first[g], first[g + 1]):
            field = VETERANS if apart and n_before[i] > 0 else ALL
            n = size[field]
            expected = normal_quantile((n - better[i]) / n, better[i] / n)
            perf[i] = min(mu[i] + factor[field] * (reached[field] - expected), ceiling)


@inner_exact
def step_size(mu, n_before, weight, noob, limit, multiplier, published):
    """Weight of a performance relative to the rating, and cap on the change of the rating in points."""
    t = n_before + 1
    share = limit + (noob - limit) / t
    high = mu > 2500.0 if published else mu >= 2500.0
    steady = 0.8 if high else 0.9 if mu >= 2000.0 else 1.0
    cap = (150.0 + 1500.0 / (t + 1)) * math.sqrt(weight) * share / (0.18 + 0.42 / t)
    return weight * multiplier * share / (1.0 - share) * steady, cap


@exact
def _absorb_rows(begin, end, player, time_seconds, contest_weight, rule, prior, store, outcome):
    noob, limit, multiplier, published, vol_after_cap = rule
    for i in range(begin, end):
        row = player[i]
        weight, cap = step_size(prior.mu[i], prior.n_before[i], contest_weight, noob, limit, multiplier, published)
        step = weight / (1.0 + weight) * (outcome.perf[i] - prior.mu[i])
        capped = min(max(step, -cap), cap)
        moved = capped if vol_after_cap else step
        mu = prior.mu[i] + capped
        sigma = math.sqrt(moved * moved / weight + prior.sigma[i] * prior.sigma[i] / (1.0 + weight))
        keep_belief(i, row, mu, sigma, time_seconds, store, outcome)


@exact
def _rate_small(rounds, two_phase, rule, store, outcome):
    """Rate all rounds; returns -1, or the first row whose win probabilities are undefined."""
    zero, prior = np.int64(0), prior_of(outcome, np.empty(0))
    variance, better = np.empty(SMALL), np.empty(SMALL)
    member, factor = np.ones((2, SMALL)), np.empty(2)
    for r in range(len(rounds.offsets) - 1):
        i, j, weight = rounds.offsets[r], rounds.offsets[r + 1], rounds.weight[r]
        n, mu, sigma, n_before = j - i, prior.mu[i:j], prior.sigma[i:j], prior.n_before[i:j]
        failed = _read_rows(i, j, rounds.player, weight, store, prior)
        if failed >= 0:
            return failed
        first = group_starts(rounds.lo[i:j])
        counts = _count(first, n_before)
        apart = two_phase and 0 < counts[-1, VETERANS] < n
        for k in range(n):
            variance[k] = sigma[k] * sigma[k] / weight
            member[VETERANS, k] = 1.0 if n_before[k] > 0 else 0.0
        for field in range(VETERANS if apart else ALL, 2):
            factor[field] = competition_factor(mu, sigma, member[field, :n])
        for k in range(n):
            field = VETERANS if apart and n_before[k] > 0 else ALL
            direct_sums(NORMAL, k, k + 1, mu, variance[:n], member[field], better)
        _perform_groups(
            zero, len(first) - 1, first, counts, factor, better, mu, n_before, apart, rounds.perf_ceiling[r],
            outcome.perf[i:j],
        )  # fmt: skip
        _absorb_rows(i, j, rounds.player, rounds.time_seconds[r], weight, rule, prior, store, outcome)
    return -1


SYSTEM = System(
    name="topcoder", params=TopCoder, deviations=0.0,
    prior=prior, summarise=summarise, perform=perform, absorb=absorb, rate_small=rate_small, small=SMALL,
    reset_rows=reset_beliefs, widens=True,
    win_probability=win_probability, performance_law=performance_law, ignores=("precision",),
)  # fmt: skip
