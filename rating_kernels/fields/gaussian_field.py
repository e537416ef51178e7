"""The sums over all opponents behind Gaussian performances, tabulated once a round.

Source: Ebtekar and Liu, arXiv:2101.00400, section 3.1, define the sums; the table is ours. With delta_j the standard
deviation of a performance around mu_j, z = (p - mu_j) / delta_j and H = phi / (1 - Phi), the sums for a tie group are

    losses(p) = sum_above H(z) / delta_j        wins(p) = sum_below H(-z) / delta_j

and Q(p) = wins - losses + its own terms has its zero at the group's performance (:mod:`.gaussian`). Wins and losses do
not differ by a constant, so there is no common function of the round. But performances fall with the place:

* The line is divided into panels, as wide as the strip in which every term is analytic, and the ranks into blocks.
* Q at the panels' edges determines which blocks have performances on which panel (:func:`locate`).
* On each panel, the participants above all of its blocks are one sum of losses, those below one sum of wins. The blocks
  between are summed one by one, and prefix sums from the top and from the bottom give every block the sum over all
  others (:func:`scan`) without subtraction.

A round costs O(n panels) time and O(n) memory. Terms beyond :data:`TAIL` deviations on their falling side are omitted.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.jit import exact, inner_exact, inner_kernel, kernel
from ..core.numerics import exp, hazard, hazards, upper_hazard
from ..core.standings import Floats, Longs
from .panels import NODES, TO_SERIES, X

DIRECT = 64  # participants up to which sums term by term are faster than a table
BLOCK = 16  # rows whose terms a root search sums one by one
STRIP = 2.8  # deviations: Phi has its nearest zeros at -1.916 +- 2.816 i
TAIL = 9.5  # deviations: H(-9.5) = 1e-20
LANES = 16  # numbers a vector loop processes at a time; padding avoids a scalar remainder
_STEEPEST = 1e35  # largest ratio of the ends of a panel to be balanced; smaller sums change no root


class GaussianField(NamedTuple):
    """The field of one round on its panels, and the blocks of its ranks.

    ``blocks`` (int64[n_blocks + 1]): first group of each block, and the number of groups: whole groups, :data:`BLOCK`
    rows or one larger group.
    ``first`` (int64[groups + 1]): as :func:`.performance.group_starts`.
    ``mu``, ``rate`` (float64[n]): mean and inverse standard deviation of each prior performance, best place first.
    ``low``, ``half_width``: panel ``i`` begins at ``low + 2 i half_width``.
    ``panels``: their number; 0: one block without a table, in the range of one panel.
    """

    blocks: Longs
    first: Longs
    mu: Floats
    rate: Floats
    low: float
    half_width: float
    panels: int


class Spans(NamedTuple):
    """Where blocks have roots.

    ``crossing`` (int64[panels + 1]): the block at which each edge divides the ranks (:func:`locate`).
    ``ends`` (int64[2]): the panels of the last and of the first root.
    ``span`` (int64[n_blocks, 2]): lowest and highest panel on which each block may have roots.
    ``slots`` (int64[panels + 1]): first slot of each panel, one slot for each block that may have roots there.
    """

    crossing: Longs
    ends: Longs
    span: Longs
    slots: Longs


@exact
def layout(mu, rate, first, ties):
    """The field of a round: the range of all roots, its panels, and the blocks of ranks.

    At x >= 1 largest deltas above all mu, every win is at most 1.2 phi(x) / delta_j, and the first group's own terms
    are at most -x max(delta) / delta_j^2, or l of it and one more win where a tie is l of a loss. With W the sum of
    1 / delta_j and own that of the group's 1 / delta_j^2, times 2 l for l < 1/2, Q < 0 from
    x = 1 + sqrt(2 ln(W / (own max(delta)))) on. The same holds below for the last group, with the part of a win.
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
    own *= min(2.0 * ties.loss, 1.0)
    high += (1.0 + math.sqrt(2.0 * math.log(max(weight * bottom_rate / own, 1.0)))) / bottom_rate
    own = 0.0
    for j in range(first[groups - 1], n):
        own += rate[j] * rate[j]
    own *= min(2.0 * ties.win, 1.0)
    low -= (1.0 + math.sqrt(2.0 * math.log(max(weight * bottom_rate / own, 1.0)))) / bottom_rate

    required = math.ceil((high - low) * top_rate / (2.0 * STRIP))
    blocks = np.empty(groups + 1, dtype=np.int64)
    count = 0
    if n <= DIRECT or groups == 1 or not required <= groups:  # more panels than roots: term by term is faster
        blocks[0] = 0
        count, panels = 1, 0
        half_width = 0.5 * (high - low)
    else:
        panels = int(required)
        half_width = 0.5 * (high - low) / panels
        since = 0
        for g in range(groups):
            if g == 0 or first[g + 1] - since > BLOCK:
                blocks[count] = g
                count += 1
                since = first[g]
    blocks[count] = groups
    return GaussianField(blocks[: count + 1].copy(), first, mu, rate, low, half_width, panels)


@kernel
def edge_sums(start, stop, field, edge, edges, sums):
    """Losses and wins of blocks ``start`` to ``stop - 1``, both positive, at ``edges`` edges from ``edge`` on."""
    blocks, first, mu, rate, low, half_width, _ = field
    size = 0
    for b in range(start, stop):
        size = max(size, first[blocks[b + 1]] - first[blocks[b]])
    size = (size + LANES - 1) // LANES * LANES
    at, scale = np.empty(size), np.empty(size)
    for b in range(start, stop):
        row, n = first[blocks[b]], first[blocks[b + 1]] - first[blocks[b]]
        lanes = (n + LANES - 1) // LANES * LANES
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
def locate(field, ties, edge, edges, sums, crossing, ends):
    """The block at which each edge divides the ranks: blocks before it have roots above the edge, later ones below.

    A cut of the ranks with losses for all before it and wins for all after it has a smaller sum the lower it is, and
    the Q of a group is between the sums of the cuts below and above it.

    ``ends`` is narrowed to the panels of the last and the first root, as far as these edges determine them.
    """
    blocks, first, mu, rate, low, half_width, _ = field
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
            tie = z + hazard(-z) if ties.full else ties.loss * hazard(z) + (1.0 - ties.win) * hazard(-z)
            q -= rate[j] * tie
        if q <= 0.0:
            ends[1] = min(ends[1], edge + e - 1)
        q = -losses[e]
        for j in range(first[groups - 1], first[groups]):
            z = (p - mu[j]) * rate[j]
            tie = hazard(z) - z if ties.full else (1.0 - ties.loss) * hazard(z) + ties.win * hazard(-z)
            q += rate[j] * tie
        if q >= 0.0:
            ends[0] = max(ends[0], edge + e)


@exact
def spans(field, crossing, ends):
    """Where blocks may have roots, given the ends and the crossing of each edge, which is completed."""
    count, panels = len(field.blocks) - 1, field.panels
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
    for i in range(ends[1] + 2, panels + 1):
        slots[i] = slots[ends[1] + 1]
    return Spans(crossing, ends, span, slots)


@exact
def node_sums(start, stop, field, spans, outside, inside):
    """Sums of blocks ``start`` to ``stop - 1`` at the panels' nodes.

    ``outside[panel, 0]`` collects the losses of blocks above all of the panel's, ``[panel, 1]`` the wins of blocks
    below; ``inside[slot]`` has both for one of the panel's blocks.
    """
    blocks, first, mu, rate, low, half_width, _ = field
    crossing, ends, span, slots = spans
    for b in range(start, stop):
        rows, end = first[blocks[b]], first[blocks[b + 1]]
        for i in range(ends[0], ends[1] + 1):
            centre = low + (2 * i + 1) * half_width
            if span[b, 0] <= i <= span[b, 1]:
                slot = slots[i] + b - crossing[i + 1]
                for j in range(rows, end):
                    c, w, weight = (centre - mu[j]) * rate[j], half_width * rate[j], rate[j]
                    for k in range(NODES):
                        up, _, _, down, _, _ = hazards(c + w * X[k])
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
                        outside[i, part, k] += weight * upper_hazard(c + sw * X[k])
                else:
                    for k in range(NODES):
                        outside[i, part, k] += weight * hazard(c + sw * X[k])


@exact
def scan(blocks, ties, spans, outside, inside):
    """Convert each slot's own sums to the losses of all blocks before it and the wins of all after it.

    ``outside[part, panel]`` has the partial sums, which are added in order. A block that is one tie group also gets
    its own terms, parts of its own sums, unless they are no losses and wins.
    """
    crossing, ends, _, slots = spans
    for part in range(1, len(outside)):
        for i in range(outside.shape[1]):
            for side in range(2):
                for k in range(NODES):
                    outside[0, i, side, k] += outside[part, i, side, k]
    run = np.empty(NODES)
    loss, win = (0.0, 0.0) if ties.full else (ties.loss, ties.win)
    for i in range(ends[0], ends[1] + 1):
        for k in range(NODES):
            run[k] = outside[0, i, 0, k]
        for slot in range(slots[i], slots[i + 1]):
            b = crossing[i + 1] + slot - slots[i]
            share = loss if blocks[b + 1] - blocks[b] == 1 else 0.0
            for k in range(NODES):
                own = inside[slot, 0, k]
                inside[slot, 0, k] = run[k] + share * own
                run[k] += own
        for k in range(NODES):
            run[k] = outside[0, i, 1, k]
        for slot in range(slots[i + 1] - 1, slots[i] - 1, -1):
            b = crossing[i + 1] + slot - slots[i]
            share = win if blocks[b + 1] - blocks[b] == 1 else 0.0
            for k in range(NODES):
                own = inside[slot, 1, k]
                inside[slot, 1, k] = run[k] + share * own
                run[k] += own


@inner_kernel
def to_series(slot, inside, values, series, to):
    """Chebyshev coefficients of wins minus losses, tilted so that both ends of the panel are of equal size; the tilt.

    Towards the ends of the field the sum falls like a Gaussian tail; without the tilt the small end of a panel would
    lose digits.
    """
    top = inside[slot, 0, 0] + inside[slot, 1, 0]
    bottom = inside[slot, 0, NODES - 1] + inside[slot, 1, NODES - 1]
    tilt = 0.0
    if top + bottom > 0.0:
        tilt = math.log(min(max(bottom / top, 1.0 / _STEEPEST), _STEEPEST)) / (X[0] - X[NODES - 1])
    for k in range(NODES):
        values[k] = (inside[slot, 1, k] - inside[slot, 0, k]) * exp(tilt * X[k])
    for m in range(NODES):
        c = 0.0
        for k in range(NODES):
            c += TO_SERIES[m, k] * values[k]
        series[to, m] = c
    return tilt


@inner_exact
def series_sum(x, half_width, series, at, tilt):
    """Value and first two derivatives of a tilted series, by Clenshaw's recurrence and its derivatives."""
    x2 = 2 * x
    b1 = b2 = d1 = d2 = f1 = f2 = 0.0
    for m in range(NODES - 1, 0, -1):
        f0 = (4 * d1 - f2) + x2 * f1  # in this order each step depends on one operation of the last
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
