"""The difficulty of a problem: the rating of a participant who solves it with chance 1/2.

Participant i of rating r_i solves a problem of difficulty D with chance

    q_i(D) = 1 / (1 + 10^((D - r_i) g_i / 400))

with g_i = 1, or Glicko's g_i = 1 / sqrt(1 + 3 (ln 10 / 400)^2 sigma_i^2 / pi^2) for uncertain ratings.

The slope is fixed, so only the number of solves matters. With y_i the share solved and rbar the mean rating,

    sum_i w_i q_i(D) + 2 qbar(D) = sum_i w_i y_i + 1,    qbar(D) = 1 / (1 + 10^((D - rbar) / 400))

A solve and a failure by a participant of the mean rating are added: the "hallucinated" win and loss of Elo-R. So the
difficulty of a problem that nobody or everybody solved is finite. The left side falls from ``sum w + 2`` to 0: there is
one root. All problems with the same participants share the tabulated sum of their field (:mod:`..fields.field`).

Source: the root with a fixed slope is that of AtCoder Problems since 2020; Glickman, "The Glicko system", for g.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.beliefs import serial_map
from ..core.jit import exact, inner_exact
from ..core.numerics import C3
from ..core.standings import Floats
from ..fields.direct import direct_sum
from ..fields.field import Table, table_start, table_sum, tabulate
from ..fields.odds_step import odds_step
from ..fields.panels import extremes, plan_panels
from ..inference.performance import without_table

SCALE = 400.0  # rating points in which the odds of a solve change tenfold
DIRECT = 256  # participants up to which sums term by term need no table
_TOLERANCE = 1e-12  # of a scale
_MARGIN = 0.1  # decimal orders of odds: keeps roots off the edges of the bracket
_STEPS = 200


class Entrants(NamedTuple):
    """The counted participations of all contests that had a problem, float64[n] each.

    ``rating``, ``sigma``: at entry, rating points; ``sigma`` 0 if it does not count.
    ``weight``: > 0.
    """

    rating: Floats
    sigma: Floats
    weight: Floats

    @classmethod
    def of(cls, rating: Floats, sigma: Floats | None = None, weight: Floats | None = None) -> Entrants:
        """Participations without uncertainty or of weight 1 by default."""
        zeros, ones = np.zeros(len(rating)), np.ones(len(rating))
        return cls(rating, zeros if sigma is None else sigma, ones if weight is None else weight)


class Difficulties(NamedTuple):
    """Difficulties and their standard deviations, rating points, float64[problems] each; NaN without participants."""

    difficulty: Floats
    deviation: Floats


class _Field(NamedTuple):
    """One field for kernels: the terms of its sum, the mean rating, and the rate and the number of virtual pairs."""

    mu: Floats
    rate: Floats
    weight: Floats
    mean: float
    total: float
    pair_rate: float
    pairs: float


def difficulties(
    entrants: Entrants, solved: Floats, scale: float = SCALE, pairs: float = 1.0, direct: int = DIRECT
) -> Difficulties:
    """The difficulties of problems that had the same participants.

    ``solved`` (float64[problems]): sum of weight times share solved, in [0, sum of weights].
    ``scale``: rating points in which the odds of a solve change tenfold.
    ``pairs``: the number of virtual pairs; without one, somebody must have solved each problem, and somebody failed.
    ``direct``: participants up to which sums are taken term by term.

    The deviation is that of the root of the equation: sqrt(sum w q (1 - q)) over the slope of the left side, with the
    virtual pair in both; without uncertain ratings this is 1 / sqrt(information).

    O(participants + problems) time from :data:`DIRECT` participants on, O(participants problems) below.
    """
    found = Difficulties(np.full(len(solved), np.nan), np.full(len(solved), np.nan))
    if not len(entrants.rating) or not len(solved):
        return found
    field = _field_of(entrants, scale, pairs)
    plain = field._replace(weight=entrants.weight * field.pair_rate / field.rate)
    uncertain = bool(entrants.sigma.any())
    low, high = _bracket(field, solved)
    tabulated, table = _sum_of(field, field.weight, low, high, direct)
    plain_table = _sum_of(field, plain.weight, low, high, direct)[1] if uncertain else table
    _solve(solved, field, plain, low, high, tabulated, uncertain, table, plain_table, *found)
    return found


def slope_score(entrants: Entrants, solved: Floats, moments: Floats, scale: float) -> float:
    """The derivative of the log-likelihood of all solves by the slope ln(10) / ``scale``, at the difficulties for it.

    ``solved`` (float64[problems]): as for :func:`difficulties` without virtual pairs, which flatten the slope.
    ``moments`` (float64[problems]): sum of weight times share solved times (rating - mean rating), points.
    """
    found = difficulties(entrants, solved, scale, 0.0)
    field = _field_of(entrants, scale, 0.0)
    weight = entrants.weight * (entrants.rating - field.mean)
    tilted = field._replace(weight=weight, total=float(np.sum(weight)))
    low, high = _bracket(field, solved)
    tabulated, table = _sum_of(field, tilted.weight, low, high, DIRECT)
    return float(np.sum(moments)) - _expected(found.difficulty, tilted, tabulated, table)


def _field_of(entrants: Entrants, scale: float, pairs: float) -> _Field:
    pair_rate = math.log(10.0) / scale
    rate = pair_rate / np.sqrt(1.0 + np.square(pair_rate / C3 * entrants.sigma))
    first = entrants.rating[0]  # differences keep the digits
    mean = float(first + np.average(entrants.rating - first, weights=entrants.weight))
    return _Field(entrants.rating, rate, entrants.weight, mean, float(np.sum(entrants.weight)), pair_rate, pairs)


def _bracket(field: _Field, solved: Floats) -> tuple[float, float]:
    """Bounds of all roots: beyond them all terms together are less than the fewest solves or failures."""
    least = min(float(np.min(solved)), field.total - float(np.max(solved))) + field.pairs
    reach = (
        (math.log10((field.total + 2.0 * field.pairs) / least) + _MARGIN) * math.log(10.0) / float(np.min(field.rate))
    )
    return float(np.min(field.mu)) - reach, float(np.max(field.mu)) + reach


def _sum_of(field: _Field, weight: Floats, low: float, high: float, direct: int) -> tuple[bool, Table]:
    """Whether the sum of a field with these weights is tabulated, and its table; the middle is that of the field."""
    _, _, middle, top_rate, bottom_rate = extremes(field.mu, field.rate, field.weight)
    if len(field.mu) <= direct:
        return False, without_table(low, high, middle, top_rate)
    plan = plan_panels(low, high, middle, top_rate, bottom_rate)
    return True, tabulate(field.mu, field.rate, weight, plan, serial_map)


@inner_exact
def _pair(p, side, field):
    """The expected solves (``side`` +1) or failures (-1) of the virtual pairs, and the slope, a size."""
    e = math.exp(-abs((p - field.mean) * field.pair_rate))
    near, far = 1.0 / (1.0 + e), e / (1.0 + e)
    share, n = far if side * (p - field.mean) >= 0.0 else near, 2.0 * field.pairs
    return n * share, n * field.pair_rate * near * far


@inner_exact
def _left_side(p, side, field, tabulated, table):
    """The expected number of solves (``side`` +1) or failures (-1), with the pair, and its slope, a size."""
    pair, pair_slope = _pair(p, side, field)
    if tabulated:
        value, slope = table_sum(p, side, table)
        return value + pair, abs(slope) + pair_slope
    whole, rest, slope = direct_sum(p, side, field.mu, field.rate, field.weight, np.int64(0), len(field.mu))
    return whole + rest + pair, abs(slope) + pair_slope


@inner_exact
def _root(solves, failures, field, low, high, tabulated, table):
    """The difficulty with these numbers of solves and failures, the pair included."""
    middle = table.plan.middle
    p = field.mean + math.log(failures / solves) / field.pair_rate
    if tabulated:
        p = table_start(solves - failures, table)
    p, last = min(max(p, low), high), high - low
    for _ in range(_STEPS):
        side = 1.0 if p >= middle else -1.0
        value, slope = _left_side(p, side, field, tabulated, table)
        step, low, high, _ = odds_step(p, side, value, slope, solves, failures, low, high, last)
        p += step
        last = abs(step)
        if last * field.pair_rate <= _TOLERANCE:
            break
    return p


@exact
def _solve(solved, field, plain, low, high, tabulated, uncertain, table, plain_table, difficulty, deviation):
    """Write the difficulty and the deviation of each problem."""
    for k in range(len(solved)):
        solves, failures = solved[k] + field.pairs, field.total - solved[k] + field.pairs
        p = _root(solves, failures, field, low, high, tabulated, table)
        side = 1.0 if p >= table.plan.middle else -1.0
        _, slope = _left_side(p, side, field, tabulated, table)
        variance = slope
        if uncertain:
            _, variance = _left_side(p, side, plain, tabulated, plain_table)
        difficulty[k] = p
        deviation[k] = math.sqrt(variance / field.pair_rate) / slope


@exact
def _expected(difficulty, field, tabulated, table):
    """Sum over problems of weight times chance of a solve."""
    total = 0.0
    for k in range(len(difficulty)):
        p = difficulty[k]
        if tabulated:
            side = 1.0 if p >= table.plan.middle else -1.0
            value, _ = table_sum(p, side, table)
        else:
            side = 1.0
            whole, rest, _ = direct_sum(p, side, field.mu, field.rate, field.weight, np.int64(0), len(field.mu))
            value = whole + rest
        total += value if side > 0.0 else field.total - value
    return total
