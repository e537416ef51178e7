"""Sums of pairs' terms from a table with interpolation in both players.

A term (:mod:`.pairs.terms`) is analytic in mu_i as far as a few sqrt(v) from the real line, and in ln v as far as about
pi. So the table is a grid of ratings, spaced by a fraction of the smallest sqrt(v), times Chebyshev nodes in the
logarithm of the variance (:mod:`.pairs.nodes`). Each player is distributed over the surrounding nodes. The sums of all
nodes over all nodes are a convolution along the ratings, computed by Fourier transform. Each player's sum is
interpolated from the nodes.
"""

from __future__ import annotations

import math

import numpy as np

from ...core.beliefs import Map
from ...core.jit import exact, inner_exact, kernel
from ...core.standings import Floats, Longs
from ..blocks import block_starts
from .nodes import Nodes, degrees
from .terms import LOGISTIC, NORMAL, limit, term

REACH = (8.0, 32.0, 32.0, 32.0)  # sqrt(v) beyond which a kind's terms are at their limit up to 1e-14 of their size

ORDER = 14  # grid points over which a rating is distributed
SPACING = 0.17  # of the grid, in smallest sqrt(v): the interpolation error is below 1e-11 of a term
_CHUNK = 1 << 15  # numbers transformed at a time: they fit into the cache
_PARTS = 1 << 21  # maximum number of values in the partial sums of all blocks

_OTHERS = [math.factorial(a) * math.factorial(ORDER - 1 - a) * (-1.0) ** (ORDER - 1 - a) for a in range(ORDER)]
_INVERSE = 1.0 / np.array(_OTHERS)  # inverse products of a grid point's distances to the others


def add_table(
    codes: Longs, field: tuple[Floats, Floats, Floats], near: tuple[int, int], own: tuple[int, int],
    nodes: Nodes, step: float, map: Map, sums: Floats,
) -> None:  # fmt: skip
    """Add sums over players ``near`` to the sums of players ``own``, without pairs of two sharp players.

    ``codes``: values of :data:`.pairs.terms.KINDS`.
    ``field``: ``mu``, ``variance`` and ``weight`` of all players.
    ``near``, ``own``: first row and the row after the last; ``own`` lies within ``near``.
    ``step``: spacing of the grid: at most :data:`SPACING` times the smallest sqrt(v).
    ``sums`` (float64[len(codes), n]).
    """
    ratings = field[0][near[0] : near[1]]
    low = ratings.min()
    points = math.floor((ratings.max() - low) / step) + ORDER + 1  # kernels may round a last rating up
    count = len(nodes.variance)
    starts = near[0] + block_starts(near[1] - near[0])
    parts = min(len(starts) - 1, max(_PARTS // (points * count), 1))  # depends on the round only
    starts = starts[np.arange(parts + 1) * (len(starts) - 1) // parts]
    grids = np.zeros((parts, points, count))

    def spread(start: int, stop: int) -> None:
        for part in range(start, stop):
            _spread(starts[part], starts[part + 1], *field, low, step, nodes.bands, grids[part])

    map(spread, parts, grids)
    size = _fast_length(2 * points - 1)
    source = np.fft.rfft(_to_nodes(grids, nodes.cosines, size))
    one, other = np.tril_indices(count)
    kept = other < nodes.offset[1]  # without pairs of two sharp nodes
    one, other = one[kept], other[kept]
    chunk = min(max(_CHUNK // size, 1), len(one))
    responses, spectra = np.zeros((chunk, size)), np.empty((chunk, source.shape[1]), dtype=complex)
    tables = np.empty((len(codes), points, count))
    for row, code in enumerate(codes):
        target = np.zeros_like(source)
        for start in range(0, len(one), chunk):
            pairs = slice(start, start + chunk)
            _respond(code, nodes.variance, one[pairs], other[pairs], step, points, responses)
            np.fft.rfft(responses, out=spectra)
            _apply(one[pairs], other[pairs], spectra, source, target)
        _to_series(np.fft.irfft(target, size), nodes.cosines, tables[row])

    def read(start: int, stop: int) -> None:
        _read(own[0] + start, own[0] + stop, *field[:2], low, step, nodes.bands, tables, sums)

    map(read, own[1] - own[0])


def _fast_length(least: int) -> int:
    """The smallest length from ``least`` on that has no prime factor above 5."""
    best = 1 << (least - 1).bit_length()
    for three in (1, 3, 9, 27):
        for five in (1, 5, 25, 125):
            quotient = -(-least // (three * five))
            best = min(best, three * five << (quotient - 1).bit_length())
    return best


@exact
def add_limits(code, starts, near, variance, weight, bands, cosines, at, sums):
    """Add sums over distant players, whose terms are at their limit, to the sums of all players.

    Players are sorted by rating into segments that begin at ``starts``; players outside of ``near[s, 0]:near[s, 1]``
    are distant from segment ``s``. The limit is not 0 for players above if terms are normal, for players below if they
    are logistic.
    """
    segments, nodes = len(starts) - 1, len(at)
    run, series, degree = np.zeros(nodes), np.empty(nodes), np.empty(nodes)
    done = len(variance) if code == NORMAL else 0
    for k in range(segments):
        s = segments - 1 - k if code == NORMAL else k
        begin, end = (near[s, 1], done) if code == NORMAL else (done, near[s, 0])
        for j in range(begin, end):
            for b in range(nodes if variance[j] >= bands.cut else bands.offset[1]):
                run[b] += weight[j] * limit(code, at[b] + variance[j])
        done = near[s, 1] if code == NORMAL else near[s, 0]
        for m in range(nodes):
            series[m] = 0.0
        for b in range(nodes):
            for m in range(nodes):
                series[m] += cosines[b, m] * run[b]
        for i in range(starts[s], starts[s + 1]):
            degrees(variance[i], bands, degree)
            for m in range(nodes):
                sums[i] += series[m] * degree[m]


@inner_exact
def _shares(x, share):
    """Lagrange's cardinal functions of points in a row, at ``x`` beyond the last of their first half."""
    x += ORDER // 2 - 1
    product = 1.0
    for a in range(ORDER):
        share[a] = _INVERSE[a] * product
        product *= x - a
    product = 1.0
    for a in range(ORDER - 1, -1, -1):
        share[a] *= product
        product *= x - a


@exact
def _spread(start, stop, mu, variance, weight, low, step, bands, grid):
    """Distribute players ``start`` to ``stop - 1`` over grid points by cardinal functions, over moments of variance."""
    nodes = grid.shape[1]
    share, degree = np.empty(ORDER), np.empty(nodes)
    for j in range(start, stop):
        x = (mu[j] - low) / step
        left = math.floor(x)
        _shares(x - left, share)
        degrees(variance[j], bands, degree)
        for a in range(ORDER):
            s = weight[j] * share[a]
            for m in range(nodes):
                grid[left + a, m] += s * degree[m]


@kernel
def _read(start, stop, mu, variance, low, step, bands, tables, sums):
    """Add the tables' values to the sums of players ``start`` to ``stop - 1``."""
    nodes = tables.shape[2]
    share, degree = np.empty(ORDER), np.empty(nodes)
    for i in range(start, stop):
        x = (mu[i] - low) / step
        left = math.floor(x)
        _shares(x - left, share)
        degrees(variance[i], bands, degree)
        for row in range(len(tables)):
            total = 0.0
            for a in range(ORDER):
                part = 0.0
                for m in range(nodes):
                    part += tables[row, left + a, m] * degree[m]
                total += share[a] * part
            sums[row, i] += total


@exact
def _to_nodes(grids, cosines, size):
    """Add the parts in order and convert moments to weights of nodes: a row of ``size`` numbers for each."""
    _, points, nodes = grids.shape
    for part in range(1, len(grids)):
        for a in range(points):
            for m in range(nodes):
                grids[0, a, m] += grids[part, a, m]
    signal = np.zeros((nodes, size))
    for b in range(nodes):
        for a in range(points):
            total = 0.0
            for m in range(nodes):
                total += cosines[b, m] * grids[0, a, m]
            signal[b, a] = total
    return signal


@exact
def _respond(code, variance, one, other, step, points, responses):
    """Terms of pairs of nodes ``one`` and ``other`` at all distances along the grid, negative distances last."""
    size = responses.shape[1]
    for k in range(len(one)):
        v = variance[one[k]] + variance[other[k]]
        both = limit(code, v)
        if code == 0:
            for a in range(points):
                responses[k, a] = term(0, a * step, v)
        elif code == 1:
            for a in range(points):
                responses[k, a] = term(1, a * step, v)
        elif code == 2:
            for a in range(points):
                responses[k, a] = term(2, a * step, v)
        else:
            for a in range(points):
                responses[k, a] = term(3, a * step, v)
        for a in range(1, points):
            responses[k, size - a] = both - responses[k, a] if code <= LOGISTIC else responses[k, a]


@exact
def _apply(one, other, spectra, source, target):
    """Add the products of responses and sources of pairs of nodes, frequency by frequency."""
    for k in range(len(one)):
        b, d = one[k], other[k]
        for f in range(source.shape[1]):
            target[b, f] += spectra[k, f] * source[d, f]
        if d != b:
            for f in range(source.shape[1]):
                target[d, f] += spectra[k, f] * source[b, f]


@exact
def _to_series(target, cosines, table):
    """Convert values at nodes, a row for each, to coefficients of series, a row for each point."""
    points, nodes = table.shape
    for a in range(points):
        for m in range(nodes):
            table[a, m] = 0.0
    for b in range(nodes):
        for a in range(points):
            for m in range(nodes):
                table[a, m] += cosines[b, m] * target[b, a]
