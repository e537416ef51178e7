"""Logistic performances: the level at which a place in the standings is most likely.

Source: Ebtekar and Liu, arXiv:2101.00400, section 3.1 and Algorithm 2. With S the field's weight above ``p``
(:mod:`ranklake.rating_kernels.fields.field`), M its mirror and F_j the prior cdf of a tied player's performance, the
performance of a tie group is the one zero of the decreasing function

    full ties :  Q(p) = S(p) - W_above - sum_tied omega_j F_j(p)        = W_below - M(p) + sum_tied omega_j (1 - F_j(p))
    split ties:  Q(p) = S(p) - W_above - W_tied / 2                     = W_below - M(p) + W_tied / 2

A tie is l of a loss and w of a win (footnote 2), each 1 or each 1/2 in these two. In general the own terms of the left
form are the sum over the tied of omega_j (l F_j(p) + (1 - w) (1 - F_j(p))); those of the right one have l and w, and
F_j and 1 - F_j, exchanged. All members of a tie group have the same performance. The left form is used above the
field's middle, the right one below: neither subtracts large numbers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.jit import exact, inner_exact, inner_kernel
from ..core.numerics import exp
from ..core.standings import Floats, Longs
from ..fields.direct import direct_sum
from ..fields.field import Table, table_start, table_sum
from ..fields.panels import Plan

TOLERANCE = 3e-7  # of a scale: Newton's next error is at most the square of its last step, 1e-13 of a scale
MARGIN = 0.01  # scales: keeps roots off the edges of the bracket
STEPS = 200


class Ties(NamedTuple):
    """What a tie counts as.

    ``loss``, ``win``: the part of a loss and of a win, > 0 and <= 1.
    ``full``: whether it is an exact coincidence; with logistic performances that is a whole loss and a whole win, with
    normal ones it is less.
    """

    loss: float
    win: float
    full: bool


FULL, SPLIT = Ties(1.0, 1.0, True), Ties(0.5, 0.5, False)


def ties_of(params: Any) -> Ties:
    """The ties of hyperparameters that have ``tie_mode``, and perhaps ``tie_loss`` and ``tie_win`` instead."""
    loss = getattr(params, "tie_loss", None)
    if loss is not None:
        return Ties(loss, params.tie_win, loss == params.tie_win == 1.0)
    return SPLIT if params.tie_mode == "split" else FULL


class Ranks(NamedTuple):
    """A field in the order of its places, for kernels.

    ``mu``, ``omega`` (float64[n]): mean of each prior performance, and its rate 1 / scale, which is also its weight.
    ``first`` (int64[groups + 1]): as :func:`group_starts`.
    ``above``, ``below`` (float64[groups]): as :func:`weigh_groups`.
    """

    mu: Floats
    omega: Floats
    first: Longs
    above: Floats
    below: Floats


@exact
def group_starts(lo):
    """First row of each tie group, and the number of rows."""
    first = np.empty(len(lo) + 1, dtype=np.int64)
    groups = 0
    for i in range(len(lo)):
        if lo[i] == i:
            first[groups] = i
            groups += 1
    first[groups] = len(lo)
    return first[: groups + 1].copy()


@exact
def weigh_groups(omega, first):
    """Total weight strictly above and strictly below each tie group.

    ``above`` is summed from the top and ``below`` from the bottom, so that both ends keep their digits.
    """
    groups = len(first) - 1
    own, above, below = np.zeros(groups), np.empty(groups), np.empty(groups)
    total = 0.0
    for g in range(groups):
        above[g] = total
        for i in range(first[g], first[g + 1]):
            own[g] += omega[i]
        total += own[g]
    total = 0.0
    for g in range(groups - 1, -1, -1):
        below[g] = total
        total += own[g]
    return above, below


@exact
def bracket(mu, omega, above, below, ties):
    """Extremes of the field and an interval that holds the root of every group.

    With e a group's own weight and L = ln((W_below + w e) / (W_above + l e)) for ties of l and w, its root is between
    min_j mu_j + b_j min(0, L) and max_j mu_j + b_j max(0, L), where b_j = 1 / omega_j: there every F_j is on the far
    side of logistic(L). L falls with the place, since l, w <= 1, so the first and the last group decide.

    Returns low, high, middle, top_rate, bottom_rate.
    """
    total = 0.0
    moment = 0.0
    for i in range(len(mu)):
        total += omega[i]
        moment += omega[i] * (mu[i] - mu[0])
    g = len(above) - 1
    e = total - below[0]
    reach_up = max(math.log((below[0] + ties.win * e) / (ties.loss * e)), 0.0) + MARGIN
    e = total - above[g]
    reach_down = max(math.log((above[g] + ties.loss * e) / (ties.win * e)), 0.0) + MARGIN
    low, high = math.inf, -math.inf
    top_rate, bottom_rate = omega[0], omega[0]
    for i in range(len(mu)):
        scale = 1.0 / omega[i]
        low, high = min(low, mu[i] - reach_down * scale), max(high, mu[i] + reach_up * scale)
        top_rate, bottom_rate = max(top_rate, omega[i]), min(bottom_rate, omega[i])
    middle = min(max(mu[0] + moment / total, low), high)
    return low, high, middle, top_rate, bottom_rate


@inner_exact
def without_table(low, high, middle, top_rate):
    """The bounds of a field that is summed term by term."""
    none, no_series = np.empty(0, dtype=np.int64), np.empty((0, 0))
    return Table(Plan(low, high, middle, top_rate, np.empty(0), none, none), no_series, no_series)


@inner_kernel
def _own_terms(p, side, mu, omega, start, stop):
    """Sum over a tie group of omega_j F_j(p) (side +1) or omega_j (1 - F_j(p)) (-1), and of omega_j^2 F_j (1 - F_j)."""
    value = 0.0
    slope = 0.0
    for j in range(start, stop):
        q = 1.0 / (1.0 + exp(-side * (p - mu[j]) * omega[j]))
        value += omega[j] * q
        slope += omega[j] * omega[j] * q * (1.0 - q)
    return value, slope


@inner_exact
def _own_sums(p, side, mu, omega, start, stop, tabulated):
    """As :func:`_own_terms`, the sum in two parts where the field has no table (:func:`..fields.direct.direct_sum`)."""
    if tabulated:
        value, slope = _own_terms(p, side, mu, omega, start, stop)
        return value, 0.0, slope
    value, rest, slope = direct_sum(p, -side, mu, omega, omega, start, stop)
    return value, rest, side * slope


@exact
def solve_groups(start, stop, ranks, ties, ceiling, tabulated, table, perf):
    """Write the performance of every member of groups ``start`` to ``stop - 1`` into ``perf``.

    ``table`` has the field's sum if ``tabulated``, and else the plan's bounds only (:func:`without_table`).

    Returns int: -1, or the first group whose root was not found.
    """
    mu, omega, first, above, below = ranks
    low, high, middle, top_rate = table.plan.low, table.plan.high, table.plan.middle, table.plan.top_rate
    zero = np.int64(0)
    p = mu[0]  # without a table each search starts at the last root: such fields are not divided
    for g in range(start, stop):
        a, b = first[g], first[g + 1]
        tied = 0.0
        for j in range(a, b):
            tied += omega[j]
        if tabulated:
            p = table_start(above[g] - below[g], table)
        lower, upper = low, high
        p = min(max(p, lower), upper)
        last = upper - lower
        found = False
        for _ in range(STEPS):
            if tabulated:
                side = 1.0 if p >= middle else -1.0
                value, slope = table_sum(p, side, table)
                rest = 0.0
            else:
                side = 1.0 if below[g] >= above[g] else -1.0
                value, rest, slope = direct_sum(p, side, mu, omega, omega, zero, len(mu))
            outside = above[g] if side > 0 else below[g]
            loss, win = (ties.loss, ties.win) if side > 0 else (ties.win, ties.loss)  # as seen from this side
            if loss + win == 1.0:
                own, own_rest, own_slope = loss * tied, 0.0, 0.0
            else:
                own, own_rest, own_slope = _own_sums(p, side, mu, omega, a, b, tabulated)
                if loss + win < 2.0:
                    other, other_rest, _ = _own_sums(p, -side, mu, omega, a, b, tabulated)
                    own, own_rest = loss * own + (1.0 - win) * other, loss * own_rest + (1.0 - win) * other_rest
                    own_slope *= loss + win - 1.0
            q = side * ((value - outside - own) + (rest - own_rest))
            slope = side * slope - own_slope
            if q > 0.0:
                lower = p
            else:
                upper = p
            step = -q / slope if slope < 0.0 else math.inf
            newton = lower <= p + step <= upper and abs(step) <= 0.5 * last
            if not newton:
                step = 0.5 * (lower + upper) - p
            p += step
            last = abs(step)
            if last * top_rate <= (TOLERANCE if newton else 1e-13):
                found = True
                break
        if not found:
            return g
        for j in range(a, b):
            perf[j] = min(p, ceiling)
    return -1
