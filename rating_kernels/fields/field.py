"""The sum over all opponents, tabulated once a round.

Many systems need, for some level ``p``, the weight of the field above it:

    S(p) = sum_j weight_j * logistic(-(p - mu_j) * rate_j)

Each term is analytic in the strip |Im p| < pi / rate_j, so on slightly narrower panels a Chebyshev series of 32 terms
represents the sum to full precision (Ebtekar and Liu, arXiv:2101.00400, define the sum; the table is ours). Near the
top ``S`` is small and every term of it positive; below ``middle`` the mirror sum ``M(p) = W - S(p)`` is tabulated
instead, so that no digits cancel at either end.

A term is evaluated on the panels near it (:mod:`.panels`) and is constant beyond them. A round costs O(n) for any
ratings.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.beliefs import Map
from ..core.jit import exact, inner_exact, kernel
from ..core.numerics import exp
from ..core.standings import Floats
from .blocks import block_starts
from .panels import NODES, TO_SERIES, Plan, X, level_of, panel_at

NEAR = 45.0  # a term below e^-45 of its size is replaced by its limit
GRID = 256  # cells of the table of first guesses

_HALF = NODES // 2
_UPPER = X[:_HALF].copy()
_LANES = 8  # exponentials that a vector loop computes at a time; padding avoids a scalar remainder
_CLAMP = 150.0  # a product of four denominators must not overflow: 4 * (150 + 2 pi) < 708


class Table(NamedTuple):
    """One round's sum, tabulated; kernels take it as it is.

    ``plan``: the panels. ``series`` (float64[panels, 32]): coefficients of each panel.
    ``guesses`` (float64[257, 2]): as :func:`finish` gives them.
    """

    plan: Plan
    series: Floats
    guesses: Floats


def tabulate(mu: Floats, rate: Floats, weight: Floats, plan: Plan, map: Map) -> Table:
    """Tabulate the sum over all terms, in fixed blocks that ``map`` divides among workers."""
    starts = block_starts(len(mu))
    sums, far = plan.partial_sums(len(starts) - 1)

    def build(start: int, stop: int) -> None:
        for block in range(start, stop):
            accumulate(mu, rate, weight, starts[block], starts[block + 1], plan, sums[block], far[block])

    map(build, len(starts) - 1, sums, far)
    table: Table = finish(sums, far, plan)
    return table


@kernel
def accumulate(mu, rate, weight, start, stop, plan, sums, far):
    """Add terms ``start`` to ``stop - 1`` to the partial sums of one block.

    ``sums[panel, 0, k]`` collects values at the outer node ``k`` of the upper half of a panel that holds ``S`` (the
    lower half where it holds ``M``), ``sums[panel, 1, k]`` at its mirror image. ``far[panel + level]`` collects the
    weight of terms at their limit from this panel on.

    One division serves four values: a node and its mirror image, on two panels.
    """
    _, _, middle, top_rate, half_width, first, offset = plan
    e = np.empty(_HALF)
    a = np.empty(offset[-1] + _LANES - 1)
    for j in range(start, stop):
        r = rate[j]
        level = level_of(r, top_rate, len(half_width))
        h = half_width[level]
        base = offset[level]
        count = offset[level + 1] - base
        origin = middle + (2 * first[level] + 1) * h  # centre of the level's first panel
        at = (mu[j] - origin) / (2 * h)
        reach = NEAR / (2 * h * r) + 0.5
        near = min(max(math.floor(at - reach), 0), count) // 2 * 2
        beyond = min(max(math.ceil(at + reach) + 1, near), count)
        beyond += (beyond - near) % 2
        far[base + level + near, 0] += weight[j]
        far[base + level + beyond, 1] += weight[j]
        for k in range(_HALF):
            e[k] = exp(h * _UPPER[k] * r)
        split = min(max(-first[level], near), beyond)  # panels before it have M
        for i in range(near, near + (beyond - near + _LANES - 1) // _LANES * _LANES):
            side = -1.0 if i < split else 1.0
            a[i] = exp(min(max(side * (origin + 2 * h * i - mu[j]) * r, -_CLAMP), _CLAMP))
        w = weight[j]
        for i in range(near, beyond, 2):
            a0 = a[i]
            a1 = a[i + 1]
            one, two = base + i, base + i + 1
            for k in range(_HALF):
                u0 = 1.0 + a0 * e[k]
                v0 = e[k] + a0
                u1 = 1.0 + a1 * e[k]
                v1 = e[k] + a1
                both0 = u0 * v0
                both1 = u1 * v1
                inverse = w / (both0 * both1)
                inverse0 = inverse * both1
                inverse1 = inverse * both0
                sums[one, 0, k] += inverse0 * v0
                sums[one, 1, k] += inverse0 * u0 * e[k]
                sums[two, 0, k] += inverse1 * v1
                sums[two, 1, k] += inverse1 * u1 * e[k]


@exact
def finish(sums, far, plan):
    """Add the blocks in order and convert values to series; also tabulate first guesses.

    ``sums`` (float64[blocks, panels, 2, 16]).
    ``far`` (float64[blocks, panels + levels, 2]).
    Returns Table: ``series``: Chebyshev coefficients of ``S`` or ``M`` on each panel. ``guesses``: ``S - M`` and its
    inverse slope at evenly spaced points from ``low`` to ``high``.
    """
    low, high, middle, _, _, first, offset = plan
    for b in range(1, len(sums)):  # loops: arithmetic on whole arrays takes seconds to compile
        for i in range(sums.shape[1]):
            for half in range(2):
                for k in range(_HALF):
                    sums[0, i, half, k] += sums[b, i, half, k]
        for i in range(far.shape[1]):
            for half in range(2):
                far[0, i, half] += far[b, i, half]
    total, constant = sums[0], far[0]
    series = np.empty((offset[-1], NODES))
    values = np.empty(NODES)
    for level in range(len(first)):
        base, count = offset[level], offset[level + 1] - offset[level]
        bins = constant[base + level : base + level + count + 1]  # one more than there are panels
        for i in range(count - 1, -1, -1):  # S: terms far above panel i
            bins[i, 0] += bins[i + 1, 0]
        for i in range(1, count + 1):  # M: terms far below panel i
            bins[i, 1] += bins[i - 1, 1]
        for i in range(count):
            holds_s = i + first[level] >= 0
            limit = bins[i + 1, 0] if holds_s else bins[i, 1]
            for k in range(_HALF):
                outer, inner = total[base + i, 0, k] + limit, total[base + i, 1, k] + limit
                values[k] = outer if holds_s else inner
                values[NODES - 1 - k] = inner if holds_s else outer
            for m in range(NODES):
                c = 0.0
                for k in range(NODES):
                    c += TO_SERIES[m, k] * values[k]
                series[base + i, m] = c
    guesses = np.empty((GRID + 1, 2))
    table = Table(plan, series, guesses)
    weight = 0.0
    for side in (1.0, -1.0):  # W = S + M, both read at the middle
        weight += table_sum(middle, side, table)[0]
    for i in range(GRID + 1):
        p = low + (high - low) * i / GRID
        side = 1.0 if p >= middle else -1.0
        value, slope = table_sum(p, side, table)
        guesses[i, 0] = side * (2.0 * value - weight)
        guesses[i, 1] = 0.5 * side / slope if slope != 0.0 else 0.0
    return table


@inner_exact
def tabulate_small(mu, rate, weight, plan):
    """:func:`tabulate` for kernels: one block, in one thread."""
    levels = len(plan.first)
    sums = np.zeros((1, plan.offset[-1], 2, NODES // 2))
    far = np.zeros((1, plan.offset[-1] + levels, 2))
    accumulate(mu, rate, weight, np.int64(0), len(mu), plan, sums[0], far[0])
    return finish(sums, far, plan)


@inner_exact
def table_sum(p, side, table):
    """``S(p)`` (``side`` +1) or ``M(p)`` (-1), as stored on ``p``'s side of the middle, and its slope."""
    plan, series = table.plan, table.series
    value = 0.0
    slope = 0.0
    for level in range(len(plan.first)):
        h = plan.half_width[level]
        panel, x = panel_at(p, side, level, plan)
        x2 = 2 * x
        b1 = 0.0
        b2 = 0.0
        d1 = 0.0
        d2 = 0.0
        for m in range(NODES - 1, 0, -1):  # Clenshaw, the derivative of the recurrence beside it
            d0 = 2 * b1 + x2 * d1 - d2
            b0 = series[panel, m] + x2 * b1 - b2
            b2, b1 = b1, b0
            d2, d1 = d1, d0
        value += series[panel, 0] + x * b1 - b2
        slope += (b1 + x * d1 - d2) / h
    return value, slope


@inner_exact
def table_start(target, table):
    """Point with ``S - M`` near ``target``: binary search of the cell, then Hermite interpolation of the inverse."""
    low, high, guesses = table.plan.low, table.plan.high, table.guesses
    a, b = 0, GRID
    while b - a > 1:
        c = (a + b) // 2
        if guesses[c, 0] > target:
            a = c
        else:
            b = c
    cell = (high - low) / GRID
    left = low + cell * a
    drop = guesses[b, 0] - guesses[a, 0]
    if drop == 0.0:
        return left + 0.5 * cell
    t = min(max((target - guesses[a, 0]) / drop, 0.0), 1.0)
    bend_a = guesses[a, 1] * drop - cell
    bend_b = cell - guesses[b, 1] * drop
    return left + t * cell + t * (1 - t) * ((1 - t) * bend_a + t * bend_b)


@exact
def read_table(start, stop, at, total, table, above, below, slope):
    """``S``, ``M`` and the slope of ``S`` at the points ``at[start:stop]``; ``total`` is the weight of all terms."""
    for i in range(start, stop):
        side = 1.0 if at[i] >= table.plan.middle else -1.0
        value, rise = table_sum(at[i], side, table)
        above[i] = value if side > 0.0 else total - value
        below[i] = total - value if side > 0.0 else value
        slope[i] = side * rise
