"""Gaussian performances: the level at which a place in the standings is most likely, without pairwise sums.

Source: Ebtekar and Liu, arXiv:2101.00400, section 3.1. With delta_j the standard deviation of a performance around
mu_j, z = (p - mu_j) / delta_j and H = phi / (1 - Phi), the performance of a tie group is the one zero of the decreasing

    Q(p) = - sum_above H(z) / delta_j + sum_tied d_j(p) + sum_below H(-z) / delta_j

with d_j = -z / delta_j where ties are full and (w H(-z) - l H(z)) / delta_j where they are l of a loss and w of a win:
both 1/2 if ties are split. A full tie is weaker than a whole loss and a whole win, unlike with logistic performances.

A round is tabulated once (:mod:`.gaussian_field`): each block of ranks has a series for the sum over all other blocks.
Each group's zero is found from its block's series plus the terms of the block itself (:func:`solve`); fields too small
for a table are one block.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.beliefs import Map
from ..core.jit import exact, inner_exact, inner_kernel
from ..core.numerics import hazards
from ..core.standings import Floats, Longs
from ..core.system import ConvergenceError
from ..fields.gaussian_field import (
    LANES,
    STRIP,
    GaussianField,
    Spans,
    edge_sums,
    layout,
    locate,
    node_sums,
    scan,
    series_sum,
    spans,
    to_series,
)
from ..fields.panels import NODES
from .performance import Ties

SLAB = 32  # edges summed at a time: limits memory
PARTS, PART_PANELS = 64, 4096  # maximum number of partial sums a round, alone and times panels
CONVERGED = 3e-5  # of the smallest delta: Halley's next error is about the cube of its last step
_SLACK = 0.01  # half-widths that a root may lie outside of its block's panels because of rounding
_STEPS = 200


def performances(mu: Floats, rate: Floats, first: Longs, ties: Ties, map: Map) -> Floats:
    """The performance of each tie group of one round.

    ``mu``, ``rate`` (float64[n]): mean and inverse standard deviation of each prior performance, best place first.
    ``first`` (int64[groups + 1]): as :func:`.performance.group_starts`.
    ``ties``: what a tie counts as.
    Raises ConvergenceError: if a root is not found to :data:`CONVERGED`; names the tie group.

    :func:`solve_round` is the single-threaded equivalent for kernels.
    """
    field: GaussianField = layout(mu, rate, first, ties)
    count, panels = len(field.blocks) - 1, field.panels
    parts = min(PARTS, count, max(PART_PANELS // max(panels, 1), 1))  # independent of workers
    starts = np.arange(parts + 1) * count // parts
    crossing, ends = np.zeros(panels + 1, dtype=np.int64), np.array([0, panels - 1])
    sums = np.empty((count, 2, min(SLAB, panels)))
    for edge in range(1, panels, SLAB):
        slab = edge, min(SLAB, panels - edge)

        def sum_edges(start: int, stop: int, slab: tuple[int, int] = slab) -> None:
            edge_sums(starts[start], starts[stop], field, *slab, sums)

        map(sum_edges, parts)
        locate(field, ties, *slab, sums, crossing, ends)
    where: Spans = spans(field, crossing, ends)
    outside, inside = np.zeros((parts, panels, 2, NODES)), np.zeros((int(where.slots[-1]), 2, NODES))

    def sum_nodes(start: int, stop: int) -> None:
        for part in range(start, stop):
            node_sums(starts[part], starts[part + 1], field, where, outside[part], inside)

    perf = np.empty(len(first) - 1)

    def find(start: int, stop: int) -> None:
        failed = solve(start, stop, field, ties, where, inside, perf)
        if failed >= 0:
            raise ConvergenceError("no performance found", int(first[failed]))

    if panels > 0:
        map(sum_nodes, parts)
        scan(field.blocks, ties, where, outside, inside)
    map(find, count)
    return perf


@inner_kernel
def _lane_sum(p, lanes, mu, rate, win, loss, next_win, next_loss):
    """Sum over a block of win_j H(-z) - loss_j H(z), its first two derivatives, and the sum for the next group."""
    value = 0.0
    following = 0.0
    slope = 0.0
    bend = 0.0
    for k in range(lanes):
        r = rate[k]
        up, up_slope, up_bend, down, down_slope, down_bend = hazards((p - mu[k]) * r)
        value += win[k] * down - loss[k] * up
        following += next_win[k] * down - next_loss[k] * up
        slope -= r * (win[k] * down_slope + loss[k] * up_slope)
        bend += r * r * (win[k] * down_bend - loss[k] * up_bend)
    return value, slope, bend, following


@inner_exact
def _move_to_tied(start, stop, ties, scale, win, loss):
    """Change rows ``start`` to ``stop - 1`` of a block from below to tied."""
    for k in range(start, stop):
        win[k], loss[k] = (0.0, 0.0) if ties.full else (ties.win * scale[k], ties.loss * scale[k])


@inner_exact
def _own(start, stop, mu, rate):
    """Own terms of a full tie group, -(p - mu[start]) pull + moment."""
    pull, moment = 0.0, 0.0
    for j in range(start, stop):
        pull += rate[j] * rate[j]
        moment += rate[j] * rate[j] * (mu[j] - mu[start])
    return pull, moment


@inner_exact
def _halley(q, slope, bend):
    return -2.0 * q * slope / (2.0 * slope * slope - q * bend)


@exact
def solve(start, stop, field, ties, where, inside, perf):
    """Write the performance of each tie group of blocks ``start`` to ``stop - 1`` into ``perf``, one entry a group.

    Returns int: -1, or the first group whose root was not found.
    """
    blocks, first, mu, rate, low, half_width, panels = field
    crossing, _, span, slots = where
    size, most = 0, 1
    for b in range(start, stop):
        size = max(size, first[blocks[b + 1]] - first[blocks[b]])
        if panels > 0:
            most = max(most, span[b, 1] - span[b, 0] + 1)
    size = (size + LANES - 1) // LANES * LANES
    at, scale = np.empty(size), np.empty(size)
    win, loss, next_win, next_loss = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    series, tilt, values = np.empty((most, NODES)), np.empty(most), np.empty(NODES)
    for b in range(start, stop):
        head, tail = blocks[b], blocks[b + 1]
        row, n = first[head], first[tail] - first[head]
        alone = tail - head == 1 and panels > 0  # then the series includes its own terms, which are not polynomials
        lanes = 0 if alone else (n + LANES - 1) // LANES * LANES
        for k in range(lanes):
            at[k], scale[k] = (mu[row + k], rate[row + k]) if k < n else (low, 0.0)
            win[k], loss[k], next_win[k], next_loss[k] = scale[k], 0.0, scale[k], 0.0
        bottom, top = 0, 0
        if panels > 0:
            bottom, top = span[b, 0], span[b, 1]
            for i in range(bottom, top + 1):
                tilt[i - bottom] = to_series(slots[i] + b - crossing[i + 1], inside, values, series, i - bottom)
            floor = low + (2 * bottom - _SLACK) * half_width
            roof = low + (2 * top + 2 + _SLACK) * half_width
            among = crossing[top] - crossing[top + 1] + 1
            p = low + 2 * half_width * (top + 1 - (b - crossing[top + 1] + 0.5) / among)
            unit = CONVERGED * half_width / STRIP
        else:
            floor, roof = low, low + 2 * half_width
            p = mu[row]
            narrowest = 0.0
            for j in range(row, row + n):
                narrowest = max(narrowest, rate[j])
            unit = CONVERGED / narrowest
        _move_to_tied(np.int64(0), 0 if alone else first[head + 1] - row, ties, scale, next_win, next_loss)
        for g in range(head, tail):
            a, end, after = first[g], first[g + 1], first[min(g + 2, tail)]
            if not alone:
                _move_to_tied(a - row, end - row, ties, scale, win, loss)
                _move_to_tied(end - row, after - row, ties, scale, next_win, next_loss)
                for k in range(a - row, end - row):
                    next_win[k], next_loss[k] = 0.0, scale[k]
            pull, moment = _own(a, end, mu, rate) if ties.full else (0.0, 0.0)
            next_pull, next_moment = _own(end, after, mu, rate) if ties.full else (0.0, 0.0)
            lower, upper = floor, roof
            last = upper - lower
            found = False
            for _ in range(_STEPS):
                value, slope, bend = 0.0, 0.0, 0.0
                if panels > 0:
                    i = min(max(math.floor((p - low) / (2 * half_width)), bottom), top)
                    x = (p - low) / half_width - (2 * i + 1)
                    value, slope, bend = series_sum(x, half_width, series, i - bottom, tilt[i - bottom])
                own, own_slope, own_bend, following = _lane_sum(p, lanes, at, scale, win, loss, next_win, next_loss)
                q = value + (own + (moment - (p - mu[a]) * pull))
                slope += own_slope - pull
                bend += own_bend
                if q > 0.0:
                    lower = p
                else:
                    upper = p
                step = _halley(q, slope, bend)
                halley = lower <= p + step <= upper and abs(step) <= 0.5 * last
                if not halley:
                    step = 0.5 * (lower + upper) - p
                last = abs(step)
                found = last <= (unit if halley else 1e-8 * unit)
                p += step
                if found:
                    break
            if not found:
                return g
            perf[g] = p
            for k in range(a - row, end - row if lanes > 0 else 0):
                win[k], loss[k] = 0.0, scale[k]
            if end < after:  # first guess of the next root, from the last point
                p -= step
                q = value + (following + (next_moment - (p - mu[end]) * next_pull))
                step = _halley(q, slope + pull - next_pull, bend)
                p = min(max(p + step, floor), roof)
    return -1


@inner_exact
def no_spans():
    """The spans and sums of a field without panels, for :func:`solve_round`."""
    none = np.zeros(1, dtype=np.int64)
    return Spans(none, none, np.zeros((0, 2), dtype=np.int64), none), np.empty((0, 2, NODES))


@inner_exact
def solve_round(mu, rate, first, ties, where, inside, perf):
    """The performances of all groups of one round, on one thread; returns as :func:`solve`.

    ``where``, ``inside``: as :func:`no_spans` gives them.
    """
    zero, field = np.int64(0), layout(mu, rate, first, ties)
    count, panels = len(field.blocks) - 1, field.panels
    if panels > 0:
        crossing, ends = np.zeros(panels + 1, dtype=np.int64), np.array([0, panels - 1])
        sums = np.empty((count, 2, min(SLAB, panels)))
        for edge in range(1, panels, SLAB):
            edges = min(SLAB, panels - edge)
            edge_sums(zero, count, field, edge, edges, sums)
            locate(field, ties, edge, edges, sums, crossing, ends)
        where = spans(field, crossing, ends)
        outside, inside = np.zeros((1, panels, 2, NODES)), np.zeros((where.slots[-1], 2, NODES))
        node_sums(zero, count, field, where, outside[0], inside)
        scan(field.blocks, ties, where, outside, inside)
    return solve(zero, count, field, ties, where, inside, perf)
