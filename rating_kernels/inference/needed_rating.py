"""The needed rating for a place, in Codeforces' rule and in its generalisation.

Sources: Mirzayanov, "Open Codeforces Rating System" (codeforces.com/blog/entry/20762, October 2015), and the program
it links to; Ebtekar and Liu's engine, which calls its form cfsys. With P(j beats x) = logistic((mu_j - x) rate),

    seed_i = 1 + sum over j != i of P(j beats i)           expected place of i
    m_i    = sqrt(place_i seed_i)                          between expected and actual place
    need_i = the rating x with   base + sum over j of P(j beats x) = m_i

Three conventions are in use. They differ in ``base`` and in ``own``, the weight of i's own prior rating in the last
sum:

    base = 1,   own = 0    Codeforces' text: the other players
    base = 1,   own = 1    Codeforces' program: all players
    base = 1/2, own = 1    cfsys: all players, oneself as half a loss

With the first and the third need_i = mu_i if place_i = seed_i.

All sums of a round are one function of the level (:mod:`.field`), except for the player's own term.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.beliefs import Beliefs, Map
from ..core.jit import exact, inner_exact, inner_kernel
from ..core.numerics import C3, exp
from ..core.parts import keep_belief, prior_of, read_belief
from ..core.standings import Floats, Ints, Longs, Rounds
from ..core.system import ConvergenceError, Outcome, Prior
from ..fields.field import table_start, table_sum, tabulate
from ..fields.odds_step import odds_step
from ..fields.panels import HALF_WIDTH, plan_panels
from .performance import TOLERANCE, without_table

TIE_SHARE = {"max": 1.0, "avg": 0.5, "min": 0.0}  # place of a tie group between its first and its last position
EQUAL = 1e-12  # of a sum: smaller differences are rounding
LOWEST_NEED, HIGHEST_NEED = 1.0, 7999.0  # the program searches whole numbers in [1, 8000)

_DOUBT = 1e-9  # of a sum: a root this near to a whole number is decided by the sum at that number
_ALONE = 0.2  # smaller sums are computed without a table, where the player's own term would cancel
_PANELS_EACH, _PANELS = 4.0, 65_536.0  # maximum number a player, and in total, for which a table is faster
_MARGIN = 0.01  # of a scale: keeps roots off the edges of their brackets
_STEPS = 200


class Convention(NamedTuple):
    """What a rule means by the needed rating, for kernels.

    ``tie_share``: one of :data:`TIE_SHARE`.
    ``rate``: 1 / scale of the win probability, per rating point.
    ``base``, ``own``: as above.
    ``whole``: search the whole numbers 1 to 7999, as Codeforces' program does: the largest rating with an expected
    place no better than m, or 1.
    """

    tie_share: float
    rate: float
    base: float
    own: float
    whole: bool = False


class FieldShape(NamedTuple):
    """Lowest and highest rating, mean, and width of a field's sum in widths of one logistic law."""

    lowest: float
    highest: float
    mean: float
    width: float


@dataclass(frozen=True, slots=True)
class Changes:
    """Needed ratings and new ratings of one round.

    ``first`` (int64[groups + 1]).
    ``seed``, ``need``, ``mu`` (float64[n]): expected place; needed rating, at most the ceiling of a system with
    ceilings; rating after the round.
    """

    by_row: ClassVar[tuple[str, ...]] = ("mu",)
    first: Longs
    seed: Floats
    need: Floats
    mu: Floats


def prior(params: Any, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Step 1 of a system without drift: beliefs do not change."""
    read_rows(start, stop, round.player, beliefs.store, prior)


def perform(params: Any, summary: Changes, start: int, stop: int, perf: Floats) -> None:
    """Step 3 of the systems that perform at the needed rating: copy it."""
    rows = slice(summary.first[start], summary.first[stop])
    perf[rows] = summary.need[rows]


def absorb(
    params: Any, beliefs: Beliefs, round: Rounds, prior: Prior, summary: Changes, start: int, stop: int,
    outcome: Outcome,
) -> None:  # fmt: skip
    """Step 4 of these systems: copy the ratings to the store."""
    outcome.mu[start:stop], outcome.sigma[start:stop] = summary.mu[start:stop], prior.sigma[start:stop]
    write_rows(start, stop, round.player, round.time_seconds[0], outcome, beliefs.store)


def needed_ratings(mu: Floats, lo: Ints, hi: Ints, convention: Convention, map: Map) -> tuple[Floats, Floats]:
    """The expected place and the needed rating of each of ``n`` participants in standings order.

    Returns seed, need : float64[n]: places from 1; rating points.
    Raises ConvergenceError: a root was not found.

    O(n); O(n^2) if ratings are so far apart that a table would have more panels than players.
    """
    n, rate = len(mu), convention.rate
    shape: FieldShape = field_shape(mu, rate)
    low, high, mean, _ = shape
    reach = (math.log(n / _ALONE) + _MARGIN) / rate  # at this distance from the field no sum is above _ALONE
    panels = (high - low + 2.0 * reach) * rate / (2.0 * HALF_WIDTH)
    tabulated, table = panels < min(_PANELS_EACH * n, _PANELS), without_table(low, high, mean, rate)
    if tabulated:
        plan = plan_panels(low - reach, high + reach, mean, rate, rate)
        table = tabulate(mu, np.full(n, rate), np.ones(n), plan, map)
    seed, need = np.empty(n), np.empty(n)

    def solve(start: int, stop: int) -> None:
        failed = solve_rows(start, stop, mu, lo, hi, convention, shape, tabulated, table, seed, need)
        if failed >= 0:
            raise ConvergenceError("no performance found", int(failed))

    map(solve, n, seed, need)
    return seed, need


@exact
def field_shape(mu, rate):
    """The shape of a field of these ratings.

    A normal law of variance v, seen through a logistic one of variance u = pi^2 / (3 rate^2), is approximately logistic
    with variance u + v: the start of searches without a table.
    """
    low, high, total, squares = mu[0], mu[0], 0.0, 0.0
    for i in range(len(mu)):
        low, high = min(low, mu[i]), max(high, mu[i])
        total += mu[i] - mu[0]
    mean = mu[0] + total / len(mu)
    for i in range(len(mu)):
        squares += (mu[i] - mean) * (mu[i] - mean)
    width = math.sqrt(1.0 + rate * rate * squares / (C3 * C3 * len(mu)))
    return FieldShape(low, high, min(max(mean, low), high), width)


@inner_kernel
def _direct(p, side, i, own, mu, rate):
    """Expected number of players above ``p`` (``side`` +1) or below it (-1), and its slope.

    Row ``i`` has weight ``own``.
    """
    value = 0.0
    slope = 0.0
    for j in range(len(mu)):
        q = 1.0 / (1.0 + exp(side * (p - mu[j]) * rate))
        share = own if j == i else 1.0
        value += share * q
        slope += share * q * (1.0 - q)
    return value, slope * rate


@inner_exact
def _from_table(p, side, i, own, mu, rate, table):
    """The result of :func:`_direct` from the table, for the side of the middle where ``p`` is."""
    value, slope = table_sum(p, side, table)
    q = 1.0 / (1.0 + exp(side * (p - mu[i]) * rate))
    return value - (1.0 - own) * q, abs(slope) - (1.0 - own) * rate * q * (1.0 - q)


@inner_exact
def _level(i, above, below, mu, convention, shape, tabulated, table):
    """The rating with expected numbers ``above`` and ``below`` of better and worse players; NaN if it is not found.

    In whole numbers the search has two phases. The first one finds the root in real numbers; its floor is the answer
    unless rounding could have moved the root across a whole number. Then the second phase (``deciding``) evaluates the
    sum once more, at that whole number, and the answer is this number or the one below.
    """
    rate, own, middle = convention.rate, convention.own, shape.mean
    odds = math.log(above / below)
    lower, upper = shape.lowest - (odds + _MARGIN) / rate, shape.highest - (odds - _MARGIN) / rate
    p = shape.mean - shape.width * odds / rate
    if tabulated:
        p = table_start(above - below, table)
        if own < 1.0:  # the table includes the player
            q = 1.0 / (1.0 + exp((p - mu[i]) * rate))
            p = table_start(above - below + (1.0 - own) * (2.0 * q - 1.0), table)
    p = min(max(p, lower), upper)
    last = upper - lower
    deciding = False
    for _ in range(_STEPS):
        if tabulated:
            side = 1.0 if p >= middle else -1.0
            value, slope = _from_table(p, side, i, own, mu, rate, table)
        else:
            side = 1.0 if above <= below else -1.0
            value, slope = _direct(p, side, i, own, mu, rate)
        target = above if side > 0.0 else below
        if deciding:
            return p if side * (value - target) >= -EQUAL * target else p - 1.0
        step, lower, upper, newton = odds_step(p, side, value, slope, above, below, lower, upper, last)
        p += step
        last = abs(step)
        if last * rate <= (TOLERANCE if newton else 1e-13):
            if not convention.whole:
                return p
            nearest = math.floor(p + 0.5)
            if abs(p - nearest) * slope > _DOUBT * target:
                return math.floor(p)
            p, deciding = nearest, True
    return math.nan


@exact
def solve_rows(start, stop, mu, lo, hi, convention, shape, tabulated, table, seed, need):
    """Write ``seed`` and ``need`` of rows ``start`` to ``stop - 1``; returns -1, or the first row without a root."""
    n, (tie_share, rate, base, own, whole) = len(mu), convention
    end = base + n - 1.0 + own  # the sum takes m from base to here
    for i in range(start, stop):
        side = 1.0 if mu[i] >= shape.mean else -1.0
        near = 0.0
        if tabulated:
            near, _ = _from_table(mu[i], side, i, 0.0, mu, rate, table)
        if near < 0.5:
            near, _ = _direct(mu[i], side, i, 0.0, mu, rate)
        losses, wins = (near, n - 1.0 - near) if side > 0.0 else (n - 1.0 - near, near)
        seed[i] = 1.0 + losses
        place = 1.0 + lo[i] + tie_share * (hi[i] - lo[i])
        m = math.sqrt(place * seed[i])
        # m - base and end - m as sums of positive terms, which keep their digits where they are small
        above = (place * losses + (place - base * base)) / (m + base)
        below = (end * end - place * n + place * wins) / (end + m)
        expected = (losses if above <= below else wins) + 0.5 * own
        target = min(above, below)
        p = mu[i]
        if n > 1 and abs(expected - target) > EQUAL * target:  # else mu itself, also where the curve is flat
            p = _level(i, above, below, mu, convention, shape, tabulated and target >= _ALONE, table)
        if not math.isfinite(p):
            return i
        need[i] = min(max(p, LOWEST_NEED), HIGHEST_NEED) if whole and n > 1 else p
    return -1


@inner_exact
def solve_directly(mu, lo, hi, convention, empty, seed, need):
    """Needed ratings of all rows of a small round, without a table; ``empty`` stands for it."""
    zero, no, shape = np.int64(0), np.bool_(False), field_shape(mu, convention.rate)
    return solve_rows(zero, len(mu), mu, lo, hi, convention, shape, no, empty, seed, need)


@exact
def read_rows(begin, end, player, store, prior):
    """Step 1 of systems without drift: read the beliefs."""
    for i in range(begin, end):
        row = player[i]
        read_belief(i, row, store, prior)


@exact
def write_rows(begin, end, player, time_seconds, outcome, store):
    """Step 4 of these systems: write the beliefs."""
    for i in range(begin, end):
        row = player[i]
        keep_belief(i, row, outcome.mu[i], outcome.sigma[i], time_seconds, store, outcome)


@inner_exact
def begin_small(i, j, rounds, convention, empty, store, outcome, seed):
    """Steps 1 to 3 of the small round in rows ``i`` to ``j - 1``, whose ``perf`` receives the needed ratings.

    Arguments and result as for :func:`solve_directly`.
    """
    read_rows(i, j, rounds.player, store, prior_of(outcome, seed))  # which has no beta
    mu, need = outcome.mu_prior[i:j], outcome.perf[i:j]
    return solve_directly(mu, rounds.lo[i:j], rounds.hi[i:j], convention, empty, seed, need)


@inner_exact
def end_small(i, j, player, time_seconds, store, outcome):
    """Step 4 of one small round, whose new ratings are in ``outcome.mu``."""
    for k in range(i, j):
        keep_belief(k, player[k], outcome.mu[k], outcome.sigma_prior[k], time_seconds, store, outcome)
