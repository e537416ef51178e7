"""AtCoder's rating for algorithm contests.

Source: AtCoder, "AtCoder Rating System ver. 1.00", and the predictors of its changes. The performance P of a place is
the level at which the place would be expected, against the average performance A_j of each participant:

    place - 1/2 = sum over j of 1 / (1 + 6^((P - A_j) / 400))           oneself included; a tie has its mean place

It is rounded to a whole number. A contest's ceiling caps it in the rating, not in the average, and a first performance
counts as it is: both as in the predictors. With weights 0.9^age, where the newest performance has the least age,

    A      = sum of 0.9^age P / sum of 0.9^age                          a newcomer: the centre of the contests' class
    level  = 800 log2(sum of 0.9^age 2^(P / 800) / sum of 0.9^age)
    rating = level - f(n) after n contests, f(n) = 1200 (F(n) - F(inf)) / (F(1) - F(inf))
    F(n)   = sqrt(sum of 0.81^i for i from 1 to n) / (sum of 0.9^i for i from 1 to n)

and a rating r below 400 is displayed as 400 e^((r - 400) / 400). ``mu`` is the level; the deduction f(n) and the scale
below 400 are a matter of display. Weights of rounds have no effect. All ratings in rating points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ...core.beliefs import Beliefs, Map
from ...core.jit import exact, inner_exact
from ...core.limits import POINTS, finite, switch
from ...core.parts import prior_of
from ...core.standings import Floats, Ints, Longs, Rounds
from ...core.system import ConvergenceError, Outcome, Prior, System, check_limits
from ...inference.logistic_field import solve_field, solve_round, tabulate_field
from ...inference.performance import SPLIT
from ...inference.win_probability import one_curve

SMALL = 1024  # participants up to which one thread is faster
RATE = math.log(6.0) / 400.0  # 400 points are odds of 6 to 1

_AGEING = 0.9  # weight of a performance, from one contest to the next
_UNIT = 800.0  # rating points that double a performance's part in the level
_DEDUCTION = 1200.0  # after the first contest
_LINEAR = 400.0  # ratings below are displayed on an exponential scale


@dataclass(frozen=True, slots=True)
class AtCoder:
    """Hyperparameters of AtCoder's rating.

    Attributes
    ----------
    mu_init : float
        Performance that a newcomer is expected to show, the centre of the contests' class. On the site: 800 in ABC,
        1000 in ARC, 1200 in AGC; 1200 in all of them from November 2025 on.
    rounded : bool
        Whether performances are rounded to whole numbers, as on the site.
    """

    mu_init: float = field(default=1200.0, metadata=finite(POINTS))
    rounded: bool = field(default=True, metadata=switch())
    sigma_init: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        check_limits(self)


def _deduction(n_rounds: Any) -> Floats:
    """f(n), for n >= 1."""
    n = np.asarray(n_rounds, dtype=np.float64)
    square, last = _AGEING**2, math.sqrt((1.0 - _AGEING) / (1.0 + _AGEING))  # F(inf)
    sums = _AGEING * (1.0 - _AGEING**n) / (1.0 - _AGEING)
    spread = np.sqrt(square * (1.0 - square**n) / (1.0 - square)) / sums
    deduction: Floats = _DEDUCTION * (spread - last) / (1.0 - last)
    return deduction


def displayed(level: Any, n_rounds: Any) -> Floats:
    """The rating on the site, not rounded, of a level after so many contests; 0 before the first."""
    rating = np.asarray(level, dtype=np.float64) - _deduction(np.maximum(n_rounds, 1))
    low = _LINEAR * np.exp(np.minimum(rating - _LINEAR, 0.0) / _LINEAR)
    return np.where(np.asarray(n_rounds) > 0, np.where(rating < _LINEAR, low, rating), 0.0)


def level(rating: Any, n_rounds: Any) -> Floats:
    """The level behind a rating > 0 on the site after n >= 1 contests: the inverse of :func:`displayed`."""
    rating = np.asarray(rating, dtype=np.float64)
    straight = np.where(rating < _LINEAR, _LINEAR + _LINEAR * np.log(np.minimum(rating, _LINEAR) / _LINEAR), rating)
    found: Floats = straight + _deduction(n_rounds)
    return found


def state(params: AtCoder, mu: Floats, sigma: Floats) -> dict[str, Floats]:
    """The average performance: with unknown performances, the level."""
    return {"average": np.array(mu, dtype=np.float64)}


def offset(params: AtCoder, mu: Floats, n_rounds: Ints) -> Floats:
    """From the level to the displayed rating."""
    return displayed(mu, n_rounds) - mu


win_probability, performance_law = one_curve(RATE)  # of the levels: 400 points are odds of 6 to 1


def prior(params: AtCoder, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Step 1: read the levels, and the averages into the column ``beta``, which the system does not use otherwise."""
    _read_rows(start, stop, round.player, beliefs.store, beliefs.column("average"), prior)


@dataclass(frozen=True, slots=True)
class Performances:
    """Performances of one round.

    ``first`` (int64[groups + 1]).
    ``perf`` (float64[n]): without the round's ceiling.
    ``ceiling``: of the round.
    """

    by_row: ClassVar[tuple[str, ...]] = ("perf",)
    first: Longs
    perf: Floats
    ceiling: float


def summarise(params: AtCoder, prior: Prior, round: Rounds, map: Map) -> Performances:
    """Steps 2 and 3: the sum over all participants, and one root for each tie group."""
    levels = replace(tabulate_field(prior.beta, np.full(round.n_rows, RATE), round, SPLIT, map), ceiling=math.inf)
    rows, perf = np.empty(round.n_rows), np.empty(len(levels.first) - 1)

    def solve(start: int, stop: int) -> None:
        solve_field(levels, SPLIT, start, stop, rows)
        perf[start:stop] = rows[levels.first[start:stop]]

    map(solve, len(perf), perf)
    if params.rounded:
        perf = np.floor(perf + 0.5)
    return Performances(levels.first, np.repeat(perf, np.diff(levels.first)), round.perf_ceiling[0])


def perform(params: AtCoder, summary: Performances, start: int, stop: int, perf: Floats) -> None:
    """Step 3: copy the performances, at most the ceiling."""
    rows = slice(summary.first[start], summary.first[stop])
    perf[rows] = np.minimum(summary.perf[rows], summary.ceiling)


def absorb(
    params: AtCoder, beliefs: Beliefs, round: Rounds, prior: Prior, summary: Performances, start: int, stop: int,
    outcome: Outcome,
) -> None:  # fmt: skip
    """Step 4: the performance joins both means."""
    _absorb_rows(
        start, stop, round.player, round.time_seconds[0], prior, summary.perf[start:stop], summary.ceiling,
        beliefs.store, beliefs.column("average"), outcome,
    )  # fmt: skip


def rate_small(params: AtCoder, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """All four steps for many small rounds in sequence, in one kernel call."""
    failed = _rate_small(rounds.columns, params.rounded, beliefs.store, beliefs.column("average"), outcome)
    if failed >= 0:
        raise ConvergenceError("no performance found")


@exact
def _read_rows(begin, end, player, store, average, prior):
    for i in range(begin, end):
        row = player[i]
        prior.mu[i], prior.sigma[i], prior.beta[i] = store.mu[row], 0.0, average[row]
        prior.n_before[i] = store.n_rounds[row]


@inner_exact
def _raised(mu, perf, share):
    """The level when a performance takes a share < 1 of its weights; in the form whose power does not overflow."""
    if perf > mu:
        return perf + _UNIT * math.log2(share + (1.0 - share) * 2.0 ** ((mu - perf) / _UNIT))
    return mu + _UNIT * math.log2(1.0 + share * (2.0 ** ((perf - mu) / _UNIT) - 1.0))


@exact
def _absorb_rows(begin, end, player, time_seconds, prior, perf, ceiling, store, average, outcome):
    """``perf`` has one entry a row from ``begin`` on."""
    for i in range(begin, end):
        row, shown = player[i], perf[i - begin]
        capped = min(shown, ceiling)
        if prior.n_before[i] == 0:
            store.mu[row], average[row] = capped, shown
        else:
            share = (1.0 - _AGEING) / (1.0 - _AGEING ** (prior.n_before[i] + 1.0))
            store.mu[row] = _raised(prior.mu[i], capped, share)
            average[row] = prior.beta[i] + share * (shown - prior.beta[i])
        store.n_rounds[row] += 1
        store.last_time[row] = max(store.last_time[row], time_seconds)
        outcome.mu[i], outcome.sigma[i] = store.mu[row], 0.0


@exact
def _rate_small(rounds, rounded, store, average, outcome):
    """Rate all rounds; returns -1, or the round that has no root."""
    omega, perf, prior = np.full(SMALL, RATE), np.empty(SMALL), prior_of(outcome, np.empty(len(rounds.player)))
    for r in range(len(rounds.offsets) - 1):
        i, j, ceiling = rounds.offsets[r], rounds.offsets[r + 1], rounds.perf_ceiling[r]
        _read_rows(i, j, rounds.player, store, average, prior)
        if solve_round(prior.beta[i:j], omega[: j - i], rounds.lo[i:j], SPLIT, math.inf, perf) >= 0:
            return r
        for k in range(j - i):
            if rounded:
                perf[k] = math.floor(perf[k] + 0.5)
            outcome.perf[i + k] = min(perf[k], ceiling)
        _absorb_rows(i, j, rounds.player, rounds.time_seconds[r], prior, perf, ceiling, store, average, outcome)
    return -1


SYSTEM = System(
    name="atcoder", params=AtCoder, state=state,
    reset_rows="a rating is a function of all performances; make a data set of each season",
    prior=prior, summarise=summarise, perform=perform, absorb=absorb, rate_small=rate_small, small=SMALL,
    field_ratings=("beta",), summary_ratings=("perf",), is_whole=lambda params: params.rounded,
    win_probability=win_probability, logistic_rate=lambda *given: RATE, performance_law=performance_law,
    deviations=0.0, offset=offset,
    ignores=("weight", "precision"),
)  # fmt: skip
