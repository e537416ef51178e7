"""Cholesky's factor, inverse and products of dense matrices, with the same bits for any number of threads.

A library for linear algebra divides its work by the number of its threads, and so rounds differently. Here a matrix is
cut into fixed tiles. Every number is the sum of its terms in order, whichever thread computes its tile.

Matrices are float64 and C-contiguous. Inside, their sizes are multiples of a tile: identity is added to a matrix that
is factored, zeros to others. Factors are upper triangular: A = U' U.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.beliefs import Map, serial_map
from ..core.jit import exact, inner_exact, kernel
from ..core.standings import Floats

_TILE = 64  # rows and columns: a tile fits in the fastest cache
_WIDE = 256  # columns of a product at a time
_DEEP = 32  # terms of a product at a time


def factored(matrix: Floats, map: Map = serial_map) -> Floats:
    """The factor U of a symmetric matrix, in whole tiles; the upper triangle of the matrix is read. O(n^3).

    NaN from the first pivot on that is not positive.
    """
    n = len(matrix)
    u = _padded(matrix)
    u[range(n, len(u)), range(n, len(u))] = 1.0
    tiles = len(u) // _TILE
    for tile in range(tiles):
        _factor_tile(u, tile)
        rest = tiles - tile - 1
        if rest:
            map(_Rows(_solve_tiles, u, tile), rest)
            map(_Rows(_subtract_tiles, u, tile), rest)
    return u


def inverse(u: Floats, n: int, map: Map = serial_map) -> Floats:
    """The inverse of the matrix [n, n] with this factor. O(n^3)."""
    lower, whole = np.zeros_like(u), np.zeros_like(u)
    map(lambda first, last: _invert_tiles(u, lower, first, last), len(u) // _TILE)
    map(lambda first, last: _square_tiles(lower, whole, first, last), len(u) // _TILE)
    _mirror(whole)
    return np.ascontiguousarray(whole[:n, :n])


def product(a: Floats, b: Floats, map: Map = serial_map) -> Floats:
    """A' B for two matrices [n, n]. O(n^3)."""
    n = len(a)
    a, b = _padded(a), _padded(b)
    whole = np.zeros_like(a)
    map(lambda first, last: _multiply_tiles(a, b, whole, first, last), len(a) // _TILE)
    return np.ascontiguousarray(whole[:n, :n])


def solved(u: Floats, right: Floats) -> Floats:
    """The x of U' U x = ``right`` (float64[n]). O(n^2)."""
    x = np.zeros(len(u))
    x[: len(right)] = right
    _substitute(u, x)
    return x[: len(right)].copy()


class _Rows:
    """Work on tiles of a factor, for a map."""

    def __init__(self, kernel, u: Floats, tile: int) -> None:
        self._kernel, self._u, self._tile = kernel, u, tile

    def __call__(self, first: int, last: int) -> None:
        self._kernel(self._u, self._tile, first, last)


def _padded(matrix: Floats) -> Floats:
    """A copy in whole tiles, with zeros."""
    n = len(matrix)
    whole = np.zeros((-(-n // _TILE) * _TILE,) * 2)
    whole[:n, :n] = matrix
    return whole


@inner_exact
def _nth(i, n):
    """A fixed order of tiles in which long and short rows alternate."""
    return i // 2 if i % 2 == 0 else n - 1 - i // 2


@inner_exact
def _add_product(sign, a, b, c, k0, i0, j0, j1):
    """C[i, j] += sign * sum of A[k, i] B[k, j] over ``_DEEP`` terms from k0 on, for a tile of rows and j0 <= j < j1.

    Four rows and four terms at a time. The compiler vectorises loops over rows of copies: their places in memory have
    fixed distances, so that none can be part of another.
    """
    n = j1 - j0
    terms, sums = np.empty((_DEEP // 4, 4 * _WIDE)), np.empty(4 * _WIDE)
    for k in range(_DEEP // 4):
        four = terms[k]
        for t in range(4):
            row = b[k0 + 4 * k + t, j0:j1]
            for j in range(n):
                four[t * _WIDE + j] = row[j]
    for i in range(i0, i0 + _TILE, 4):
        for t in range(4):
            row = c[i + t, j0:j1]
            for j in range(n):
                sums[t * _WIDE + j] = row[j]
        for k in range(_DEEP // 4):
            at, four = k0 + 4 * k, terms[k]
            a0, a1, a2, a3 = a[at, i : i + 4], a[at + 1, i : i + 4], a[at + 2, i : i + 4], a[at + 3, i : i + 4]
            p0, p1, p2, p3 = sign * a0[0], sign * a1[0], sign * a2[0], sign * a3[0]
            q0, q1, q2, q3 = sign * a0[1], sign * a1[1], sign * a2[1], sign * a3[1]
            r0, r1, r2, r3 = sign * a0[2], sign * a1[2], sign * a2[2], sign * a3[2]
            s0, s1, s2, s3 = sign * a0[3], sign * a1[3], sign * a2[3], sign * a3[3]
            for j in range(n):
                w, x, y, z = four[j], four[_WIDE + j], four[2 * _WIDE + j], four[3 * _WIDE + j]
                sums[j] = sums[j] + p0 * w + p1 * x + p2 * y + p3 * z
                sums[_WIDE + j] = sums[_WIDE + j] + q0 * w + q1 * x + q2 * y + q3 * z
                sums[2 * _WIDE + j] = sums[2 * _WIDE + j] + r0 * w + r1 * x + r2 * y + r3 * z
                sums[3 * _WIDE + j] = sums[3 * _WIDE + j] + s0 * w + s1 * x + s2 * y + s3 * z
        for t in range(4):
            row = c[i + t, j0:j1]
            for j in range(n):
                row[j] = sums[t * _WIDE + j]


@inner_exact
def _subtract(factor, one, other):
    for j in range(len(one)):
        one[j] -= factor * other[j]


@inner_exact
def _divide(u, k0, x, j0, j1):
    """X = U_kk'^-1 X for the rows of a tile."""
    for k in range(k0, k0 + _TILE):
        row, scale = x[k, j0:j1], 1.0 / u[k, k]
        for m in range(k0, k):
            _subtract(u[m, k], row, x[m, j0:j1])
        for j in range(len(row)):
            row[j] *= scale


@exact
def _factor_tile(u, tile):
    first = tile * _TILE
    last = first + _TILE
    for i in range(first, last):
        for k in range(first, i):
            _subtract(u[k, i], u[i, i:last], u[k, i:last])
        root = math.sqrt(u[i, i]) if u[i, i] > 0.0 else math.nan
        scale = 1.0 / root
        u[i, i] = root
        for j in range(i + 1, last):
            u[i, j] *= scale
        for j in range(first, i):
            u[i, j] = 0.0


@exact
def _solve_tiles(u, tile, first, last):
    """The rows of a tile, in columns of tiles after it."""
    start = (tile + 1) * _TILE
    for j in range(start + first * _TILE, start + last * _TILE, _TILE):
        _divide(u, tile * _TILE, u, j, j + _TILE)


@exact
def _subtract_tiles(u, tile, first, last):
    """The products of the rows of a tile, from rows after it."""
    n, k = len(u), tile * _TILE
    rest = n // _TILE - tile - 1
    for number in range(first, last):
        i = (tile + 1 + _nth(number, rest)) * _TILE
        for deep in range(k, k + _TILE, _DEEP):
            for j in range(i, n, _WIDE):
                _add_product(-1.0, u, u, u, deep, i, j, min(j + _WIDE, n))


@exact
def _invert_tiles(u, lower, first, last):
    """The columns of some tiles of U'^-1."""
    n = len(u)
    for number in range(first, last):
        j = _nth(number, n // _TILE) * _TILE
        for i in range(j, j + _TILE):
            lower[i, i] = 1.0
        for i in range(j, n, _TILE):
            for k in range(j, i, _DEEP):
                _add_product(-1.0, u, lower, lower, k, i, j, j + _TILE)
            _divide(u, i, lower, j, j + _TILE)


@exact
def _square_tiles(lower, whole, first, last):
    """The upper triangle of L' L, for a lower triangular L."""
    n = len(lower)
    for number in range(first, last):
        i = _nth(number, n // _TILE) * _TILE
        for j in range(i, n, _WIDE):
            for k in range(j, n, _DEEP):
                _add_product(1.0, lower, lower, whole, k, i, j, min(j + _WIDE, n))


@exact
def _multiply_tiles(a, b, whole, first, last):
    n = len(a)
    for i in range(first * _TILE, last * _TILE, _TILE):
        for j in range(0, n, _WIDE):
            for k in range(0, n, _DEEP):
                _add_product(1.0, a, b, whole, k, i, j, min(j + _WIDE, n))


@exact
def _mirror(whole):
    """Copy the upper triangle to the lower one, tile by tile."""
    n = len(whole)
    for i0 in range(0, n, _TILE):
        for j0 in range(0, i0 + _TILE, _TILE):
            for i in range(i0, i0 + _TILE):
                for j in range(j0, min(j0 + _TILE, i)):
                    whole[i, j] = whole[j, i]


@kernel
def _substitute(u, x):
    n = len(x)
    for k in range(n):
        x[k] /= u[k, k]
        _subtract(x[k], x[k + 1 :], u[k, k + 1 :])
    for k in range(n - 1, -1, -1):
        row, rest, total = u[k, k + 1 :], x[k + 1 :], 0.0
        for j in range(len(row)):
            total += row[j] * rest[j]
        x[k] = (x[k] - total) / u[k, k]
