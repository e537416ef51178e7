"""Gaussian performances: the level at which a place in the standings is the likeliest outcome, without pairwise work.

Source: Ebtekar and Liu, arXiv:2101.00400, section 3.1. With delta_j the standard deviation of a performance around
mu_j, z = (p - mu_j) / delta_j and H = phi / (1 - Phi), the performance of a tie group is the one zero of the decreasing

    Q(p) = - sum_above H(z) / delta_j + sum_tied d_j(p) + sum_below H(-z) / delta_j

with d_j = -z / delta_j where ties are full, (H(-z) - H(z)) / (2 delta_j) where they are split. Wins and losses do not
differ by a constant, so no function is common to the round; but performances fall with the place, and that is enough:

* The line is cut into panels, as wide as the strip in which every term is analytic, and the ranks into blocks.
* Q at the panels' edges tells which blocks have their performances on which panel (:func:`locate`).
* On each panel, those who stand above all of its blocks are one sum of losses, those below one sum of wins; the blocks
  between are summed one by one, and prefixes from the top and from the bottom give every block the function that all
  others make for it (:func:`scan`): nothing is subtracted.
* Each group's zero is found on its block's series plus the block's own few terms (:func:`solve`).

A round costs O(n panels) time and O(n) memory. Terms beyond :data:`TAIL` deviations on their falling side are left out.
"""

from __future__ import annotations

import math

import numpy as np

from ._jit import exact, kernel
from .numerics import exp, hazard, hazards, upper_hazard
from .standings import Floats, Longs
from .system import ConvergenceError, Map

__all__ = ["group_starts", "performances", "solve_round"]

DIRECT = 64  # participants up to which summing term by term beats a table
BLOCK = 16  # rows whose terms a root search sums one by one beside the table
NODES = 32  # a panel
STRIP = 2.8  # deviations: Phi has its nearest zeros at -1.916 +- 2.816 i
TAIL = 9.5  # deviations: H(-9.5) = 1e-20
SLAB = 32  # edges summed at a time: bounds the memory
PARTS, PART_PANELS = 64, 4096  # partial sums a round, at most; and times panels
CONVERGED = 3e-5  # of the smallest delta: Halley's next error is about the cube of its last step
_SLACK = 0.01  # half-widths that a root may lie beyond its block's panels, as rounding may put it on the wrong one
_STEEPEST = 1e35  # ends of a panel to be evened out; a sum smaller than that moves no root
_STEPS = 200
_LANES = 16  # numbers a vector loop takes at a time; padding keeps it from a scalar remainder

_ANGLES = (np.arange(NODES) + 0.5) * math.pi / NODES
_X = np.cos(_ANGLES)  # descending
_TO_SERIES = 2.0 / NODES * np.cos(np.outer(np.arange(NODES), _ANGLES))  # values at _X to Chebyshev coefficients
_TO_SERIES[0] *= 0.5


def performances(mu: Floats, rate: Floats, first: Longs, split: bool, map: Map) -> Floats:
    """The performance of each tie group of one round.

    Parameters
    ----------
    mu, rate : float64[n]
        Mean and inverse standard deviation of everybody's performance before the round, best first.
    first : int64[groups + 1]
        As :func:`group_starts`.
    split
        Whether ties are half a win and half a loss.

    Raises
    ------
    ConvergenceError
        If a root is not found to :data:`CONVERGED`; names the tie group.

    Notes
    -----
    :func:`solve_round` is the same on one thread, for kernels.
    """
    low, half_width, panels, blocks = layout(mu, rate, first)
    count, field, grid = len(blocks) - 1, (blocks, first, mu, rate), (low, half_width)
    parts = min(PARTS, count, max(PART_PANELS // max(panels, 1), 1))  # fixed by the round: no bit hangs on the hands
    starts = np.arange(parts + 1) * count // parts
    crossing, ends = np.zeros(panels + 1, dtype=np.int64), np.array([0, panels - 1])
    sums = np.empty((count, 2, min(SLAB, panels)))
    for edge in range(1, panels, SLAB):
        slab = edge, min(SLAB, panels - edge)

        def sum_edges(start: int, stop: int, slab: tuple[int, int] = slab) -> None:
            edge_sums(starts[start], starts[stop], *field, *grid, *slab, sums)

        map(sum_edges, parts)
        locate(*field, split, *grid, *slab, sums, crossing, ends)
    span, slots = spans(blocks, panels, crossing, ends)
    outside, inside = np.zeros((parts, panels, 2, NODES)), np.zeros((int(slots[-1]), 2, NODES))
    where = crossing, ends, span, slots

    def sum_nodes(start: int, stop: int) -> None:
        for part in range(start, stop):
            node_sums(starts[part], starts[part + 1], *field, *grid, *where, outside[part], inside)

    perf = np.empty(len(first) - 1)

    def find(start: int, stop: int) -> None:
        failed = solve(start, stop, *field, split, *grid, panels, crossing, span, slots, inside, perf)
        if failed >= 0:
            raise ConvergenceError(f"no performance found for the tie group at position {first[failed]}")

    if panels > 0:
        map(sum_nodes, parts)
        scan(blocks, split, crossing, ends, slots, outside, inside)
    map(find, count)
    return perf


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
def layout(mu, rate, first):
    """Where all roots lie, the panels there, and the blocks of ranks.

    At x >= 1 largest deltas above everybody, every win is at most 1.2 phi(x) / delta_j, and the first group's own terms
    are at most -x max(delta) / delta_j^2, half of it and 0.6 phi(x) / delta_j more where ties are split. With W the sum
    of 1 / delta_j and own that of the group's 1 / delta_j^2, Q < 0 from x = 1 + sqrt(2 ln(W / (own max(delta)))) on.
    The same holds below for the last group.

    Returns
    -------
    low, half_width, panels
        Panel ``i`` spans ``low + 2 i half_width`` and one panel width on. 0 panels: one block without a table.
    blocks : int64[n_blocks + 1]
        First group of each block, and the number of groups: whole groups, :data:`BLOCK` rows or one larger group.
    """
    groups = len(first) - 1
    n = first[groups]
    low, high, weight = math.inf, -math.inf, 0.0
    top_rate, bottom_rate = rate[0], rate[0]
    for j in range(n):
        low, high = min(low, mu[j]), max(high, mu[j])
        top_rate, bottom_rate = max(top_rate, rate[j]), min(bottom_rate, rate[j])
        weight += rate[j]
    own = 0.0
    for j in range(first[1]):
        own += rate[j] * rate[j]
    high += (1.0 + math.sqrt(2.0 * math.log(max(weight * bottom_rate / own, 1.0)))) / bottom_rate
    own = 0.0
    for j in range(first[groups - 1], n):
        own += rate[j] * rate[j]
    low -= (1.0 + math.sqrt(2.0 * math.log(max(weight * bottom_rate / own, 1.0)))) / bottom_rate

    wanted = math.ceil((high - low) * top_rate / (2.0 * STRIP))
    blocks = np.empty(groups + 1, dtype=np.int64)
    count = 0
    if n <= DIRECT or groups == 1 or not wanted <= groups:  # more panels than roots: term by term costs less
        blocks[0] = 0
        count, panels = 1, 0
        half_width = 0.5 * (high - low)
    else:
        panels = int(wanted)
        half_width = 0.5 * (high - low) / panels
        since = 0
        for g in range(groups):
            if g == 0 or first[g + 1] - since > BLOCK:
                blocks[count] = g
                count += 1
                since = first[g]
    blocks[count] = groups
    return low, half_width, panels, blocks[: count + 1].copy()


@kernel
def edge_sums(start, stop, blocks, first, mu, rate, low, half_width, edge, edges, sums):
    """Losses and wins of blocks ``start`` to ``stop - 1``, both positive, at ``edges`` edges from ``edge`` on."""
    size = 0
    for b in range(start, stop):
        size = max(size, first[blocks[b + 1]] - first[blocks[b]])
    size = (size + _LANES - 1) // _LANES * _LANES
    at, scale = np.empty(size), np.empty(size)
    for b in range(start, stop):
        row, n = first[blocks[b]], first[blocks[b + 1]] - first[blocks[b]]
        lanes = (n + _LANES - 1) // _LANES * _LANES
        for k in range(n):
            at[k], scale[k] = mu[row + k], rate[row + k]
        for k in range(n, lanes):
            at[k], scale[k] = low, 0.0
        for e in range(edges):
            p = low + 2 * half_width * (edge + e)
            loss, win = 0.0, 0.0
            for k in range(lanes):
                up, _, _, down, _, _ = hazards((p - at[k]) * scale[k])
                loss += scale[k] * up
                win += scale[k] * down
            sums[b, 0, e] = loss
            sums[b, 1, e] = win


@exact
def locate(blocks, first, mu, rate, split, low, half_width, edge, edges, sums, crossing, ends):
    """Which block each edge divides: those before it have their roots above the edge, those after it below.

    A cut of the ranks that makes losses of all before it and wins of all after it gives a lower sum the lower it lies,
    and the Q of a group lies between those of the cuts below and above it.

    ``ends`` narrows to the panels that hold the last and the first root, as far as these edges tell.
    """
    count = len(blocks) - 1
    groups = blocks[count]
    wins, losses = np.zeros(edges), np.zeros(edges)
    for b in range(count - 1, -1, -1):
        for e in range(edges):
            own = sums[b, 1, e]
            sums[b, 1, e] = wins[e]  # of all blocks after b
            wins[e] += own
    for e in range(edges):
        crossing[edge + e] = 0
    for b in range(count):
        for e in range(edges):
            losses[e] += sums[b, 0, e]
            crossing[edge + e] += 1 if sums[b, 1, e] >= losses[e] else 0
    for e in range(edges):
        crossing[edge + e] = min(crossing[edge + e], count - 1)
        p = low + 2 * half_width * (edge + e)
        q = wins[e]
        for j in range(first[1]):
            z = (p - mu[j]) * rate[j]
            q -= rate[j] * (0.5 * (hazard(z) + hazard(-z)) if split else z + hazard(-z))
        if q <= 0.0:
            ends[1] = min(ends[1], edge + e - 1)
        q = -losses[e]
        for j in range(first[groups - 1], first[groups]):
            z = (p - mu[j]) * rate[j]
            q += rate[j] * (0.5 * (hazard(z) + hazard(-z)) if split else hazard(z) - z)
        if q >= 0.0:
            ends[0] = max(ends[0], edge + e)


@exact
def spans(blocks, panels, crossing, ends):
    """The panels on which each block may have roots, lowest and highest, and where each panel's slots begin."""
    count = len(blocks) - 1
    for i in range(panels + 1 if panels > 0 else 0):
        if i <= ends[0]:
            crossing[i] = count - 1
        elif i > ends[1]:
            crossing[i] = 0
    span = np.zeros((count, 2), dtype=np.int64)
    slots = np.zeros(panels + 1, dtype=np.int64)
    for i in range(ends[1], ends[0] - 1, -1):
        for b in range(crossing[i + 1], crossing[i] + 1):
            span[b, 0] = i
    for i in range(ends[0], ends[1] + 1):
        for b in range(crossing[i + 1], crossing[i] + 1):
            span[b, 1] = i
        slots[i + 1] = slots[i] + crossing[i] - crossing[i + 1] + 1
    slots[ends[1] + 1 :] = slots[ends[1] + 1]
    return span, slots


@exact
def node_sums(start, stop, blocks, first, mu, rate, low, half_width, crossing, ends, span, slots, outside, inside):
    """Sums of blocks ``start`` to ``stop - 1`` at the panels' nodes.

    ``outside[panel, 0]`` collects the losses of blocks that stand above all of the panel's, ``[panel, 1]`` the wins of
    those below; ``inside[slot]`` holds both for one of the panel's blocks.
    """
    for b in range(start, stop):
        rows, end = first[blocks[b]], first[blocks[b + 1]]
        for i in range(ends[0], ends[1] + 1):
            centre = low + (2 * i + 1) * half_width
            if span[b, 0] <= i <= span[b, 1]:
                slot = slots[i] + b - crossing[i + 1]
                for j in range(rows, end):
                    c, w, weight = (centre - mu[j]) * rate[j], half_width * rate[j], rate[j]
                    for k in range(NODES):
                        up, _, _, down, _, _ = hazards(c + w * _X[k])
                        inside[slot, 0, k] += weight * up
                        inside[slot, 1, k] += weight * down
                continue
            side = 1.0 if i < span[b, 0] else -1.0
            part = 0 if i < span[b, 0] else 1
            for j in range(rows, end):
                c, w, weight = side * (centre - mu[j]) * rate[j], half_width * rate[j], rate[j]
                sw = side * w
                if c + w < -TAIL:
                    continue
                if c >= w:
                    for k in range(NODES):
                        outside[i, part, k] += weight * upper_hazard(c + sw * _X[k])
                else:
                    for k in range(NODES):
                        outside[i, part, k] += weight * hazard(c + sw * _X[k])


@exact
def scan(blocks, split, crossing, ends, slots, outside, inside):
    """Turn each slot's own sums into the losses of all before it and the wins of all after it.

    ``outside[part, panel]`` holds the partial sums, added in their order. A block that is one split tie group gets half
    of its own sums on top: they are its own terms.
    """
    for part in range(1, len(outside)):
        outside[0] += outside[part]
    run = np.empty(NODES)
    for i in range(ends[0], ends[1] + 1):
        for k in range(NODES):
            run[k] = outside[0, i, 0, k]
        for slot in range(slots[i], slots[i + 1]):
            b = crossing[i + 1] + slot - slots[i]
            share = 0.5 if split and blocks[b + 1] - blocks[b] == 1 else 0.0
            for k in range(NODES):
                own = inside[slot, 0, k]
                inside[slot, 0, k] = run[k] + share * own
                run[k] += own
        for k in range(NODES):
            run[k] = outside[0, i, 1, k]
        for slot in range(slots[i + 1] - 1, slots[i] - 1, -1):
            b = crossing[i + 1] + slot - slots[i]
            share = 0.5 if split and blocks[b + 1] - blocks[b] == 1 else 0.0
            for k in range(NODES):
                own = inside[slot, 1, k]
                inside[slot, 1, k] = run[k] + share * own
                run[k] += own


@kernel
def _to_series(slot, inside, values, series, to):
    """Chebyshev coefficients of wins minus losses, tilted so that both ends of the panel weigh alike; the tilt.

    Towards the ends of the field the sum falls like a Gaussian tail; without the tilt the large end of a panel would
    decide how many digits the small one has.
    """
    top = inside[slot, 0, 0] + inside[slot, 1, 0]
    bottom = inside[slot, 0, NODES - 1] + inside[slot, 1, NODES - 1]
    tilt = 0.0
    if top + bottom > 0.0:
        tilt = math.log(min(max(bottom / top, 1.0 / _STEEPEST), _STEEPEST)) / (_X[0] - _X[NODES - 1])
    for k in range(NODES):
        values[k] = (inside[slot, 1, k] - inside[slot, 0, k]) * exp(tilt * _X[k])
    for m in range(NODES):
        c = 0.0
        for k in range(NODES):
            c += _TO_SERIES[m, k] * values[k]
        series[to, m] = c
    return tilt


@exact
def _series_sum(x, half_width, series, at, tilt):
    """Value and first two derivatives of a tilted series, by Clenshaw's recurrence and its derivatives."""
    x2 = 2 * x
    b1 = b2 = d1 = d2 = f1 = f2 = 0.0
    for m in range(NODES - 1, 0, -1):
        f0 = (4 * d1 - f2) + x2 * f1  # in this order each step waits for one operation of the last
        d0 = (2 * b1 - d2) + x2 * d1
        b0 = (series[at, m] - b2) + x2 * b1
        b2, b1 = b1, b0
        d2, d1 = d1, d0
        f2, f1 = f1, f0
    value = series[at, 0] + x * b1 - b2
    slope = b1 + x * d1 - d2
    bend = 2 * d1 + x * f1 - f2
    scale = math.exp(-tilt * x)
    bend = scale * (bend - tilt * (2 * slope - tilt * value)) / (half_width * half_width)
    slope = scale * (slope - tilt * value) / half_width
    return scale * value, slope, bend


@kernel
def _lane_sum(p, lanes, mu, rate, win, loss, next_win, next_loss):
    """Sum over a block of win_j H(-z) - loss_j H(z), and its first two derivatives; the sum for the next group."""
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


@exact
def _pass(start, stop, split, scale, win, loss):
    """Rows ``start`` to ``stop - 1`` of a block go from below to tied."""
    for k in range(start, stop):
        win[k] = loss[k] = 0.5 * scale[k] if split else 0.0


@exact
def _own(start, stop, mu, rate):
    """Own terms of a full tie group, -(p - mu[start]) pull + moment."""
    pull, moment = 0.0, 0.0
    for j in range(start, stop):
        pull += rate[j] * rate[j]
        moment += rate[j] * rate[j] * (mu[j] - mu[start])
    return pull, moment


@exact
def _halley(q, slope, bend):
    return -2.0 * q * slope / (2.0 * slope * slope - q * bend)


@exact
def solve(
    start, stop, blocks, first, mu, rate, split, low, half_width, panels, crossing, span, slots, inside, perf
):  # fmt: skip
    """Write the performance of each tie group of blocks ``start`` to ``stop - 1`` into ``perf``, one entry a group.

    Returns
    -------
    int
        -1, or the first group whose root was not found.
    """
    size, most = 0, 1
    for b in range(start, stop):
        size = max(size, first[blocks[b + 1]] - first[blocks[b]])
        if panels > 0:
            most = max(most, span[b, 1] - span[b, 0] + 1)
    size = (size + _LANES - 1) // _LANES * _LANES
    at, scale = np.empty(size), np.empty(size)
    win, loss, next_win, next_loss = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    series, tilt, values = np.empty((most, NODES)), np.empty(most), np.empty(NODES)
    for b in range(start, stop):
        head, tail = blocks[b], blocks[b + 1]
        row, n = first[head], first[tail] - first[head]
        alone = tail - head == 1 and panels > 0  # then its own terms are in the series, where they are no polynomial
        lanes = 0 if alone else (n + _LANES - 1) // _LANES * _LANES
        for k in range(lanes):
            at[k], scale[k] = (mu[row + k], rate[row + k]) if k < n else (low, 0.0)
            win[k], loss[k], next_win[k], next_loss[k] = scale[k], 0.0, scale[k], 0.0
        bottom, top = 0, 0
        if panels > 0:
            bottom, top = span[b, 0], span[b, 1]
            for i in range(bottom, top + 1):
                tilt[i - bottom] = _to_series(slots[i] + b - crossing[i + 1], inside, values, series, i - bottom)
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
        _pass(0, 0 if alone else first[head + 1] - row, split, scale, next_win, next_loss)
        for g in range(head, tail):
            a, end, after = first[g], first[g + 1], first[min(g + 2, tail)]
            if not alone:
                _pass(a - row, end - row, split, scale, win, loss)
                _pass(end - row, after - row, split, scale, next_win, next_loss)
                for k in range(a - row, end - row):
                    next_win[k], next_loss[k] = 0.0, scale[k]
            pull, moment = (0.0, 0.0) if split else _own(a, end, mu, rate)
            next_pull, next_moment = (0.0, 0.0) if split else _own(end, after, mu, rate)
            lower, upper = floor, roof
            last = upper - lower
            found = False
            for _ in range(_STEPS):
                value, slope, bend = 0.0, 0.0, 0.0
                if panels > 0:
                    i = min(max(math.floor((p - low) / (2 * half_width)), bottom), top)
                    x = (p - low) / half_width - (2 * i + 1)
                    value, slope, bend = _series_sum(x, half_width, series, i - bottom, tilt[i - bottom])
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
            if end < after:  # the next root, seen from where this one was
                p -= step
                q = value + (following + (next_moment - (p - mu[end]) * next_pull))
                step = _halley(q, slope + pull - next_pull, bend)
                p = min(max(p + step, floor), roof)
    return -1


@exact
def solve_round(mu, rate, first, split, perf):
    """The performances of all groups of one round, on one thread; returns as :func:`solve`."""
    low, half_width, panels, blocks = layout(mu, rate, first)
    count = len(blocks) - 1
    crossing, ends = np.zeros(panels + 1, dtype=np.int64), np.array([0, panels - 1])
    sums = np.empty((count, 2, min(SLAB, panels)))
    for edge in range(1, panels, SLAB):
        edges = min(SLAB, panels - edge)
        edge_sums(0, count, blocks, first, mu, rate, low, half_width, edge, edges, sums)
        locate(blocks, first, mu, rate, split, low, half_width, edge, edges, sums, crossing, ends)
    span, slots = spans(blocks, panels, crossing, ends)
    outside, inside = np.zeros((1, panels, 2, NODES)), np.zeros((slots[-1], 2, NODES))
    if panels > 0:
        node_sums(
            0, count, blocks, first, mu, rate, low, half_width, crossing, ends, span, slots, outside[0], inside
        )  # fmt: skip
        scan(blocks, split, crossing, ends, slots, outside, inside)
    return solve(
        0, count, blocks, first, mu, rate, split, low, half_width, panels, crossing, span, slots, inside, perf
    )  # fmt: skip
