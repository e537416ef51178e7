"""Results of games between two, merged where they agree: the data of the Bradley-Terry model.

Rows are sorted in two passes by counting, by the second player and then by the first, which takes time in proportion
to the rows. Rows of a pair are then sorted by comparison, three ways: the many equal rows of a data set without
covariates take one pass for each distinct row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ..core.beliefs import Map, serial_map
from ..core.jit import exact, inner_exact
from ..core.standings import Floats, Ints, Longs

_FEW = 12  # rows that insertion sorts


class CovariateError(ValueError):
    """A covariate that cannot be used.

    ``column``: its number.
    ``rule``: what is wrong with it, after its name.
    """

    def __init__(self, column: int, rule: str) -> None:
        super().__init__(column, rule)
        self.column, self.rule = column, rule

    def __str__(self) -> str:
        return f"covariate {self.column} {self.rule}"


class Comparisons(NamedTuple):
    """Games between two, one row for all that agree.

    ``first``, ``second`` (int32[m]): the numbers of the players.
    ``x`` (float64[m, c]): covariates, oriented to the first player.
    ``result`` (float64[m]): the score of the first player, from 0 to 1.
    ``weight`` (float64[m]): how often a game counts, > 0.
    ``offset`` (float64[m]): the known advantage of the first player, natural units.
    ``count`` (float64[m]): the number of games.
    """

    first: Ints
    second: Ints
    x: Floats
    result: Floats
    weight: Floats
    offset: Floats
    count: Floats  # type: ignore[assignment]  # a column here, not the method of tuples

    @classmethod
    def of(
        cls,
        first: Ints,
        second: Ints,
        result: Floats,
        x: Floats | None = None,
        weight: Floats | None = None,
        offset: Floats | None = None,
        count: Floats | None = None,
    ) -> Self:
        """Games without covariates, of weight 1, without a known advantage, each of them once, by default."""
        m = len(first)
        ones, zeros = np.ones(m), np.zeros(m)
        optional = [(weight, ones), (offset, zeros), (count, ones)]
        numbers = [result, *(usual if given is None else given for given, usual in optional)]
        columns = [first, second, np.empty((m, 0)) if x is None else x, *numbers]
        kinds = [np.int32] * 2 + [np.float64] * (len(columns) - 2)
        # kernels would be compiled again for columns that cannot be written
        return cls.from_columns(map(_writable, columns, kinds))

    @classmethod
    def from_columns(cls, columns: Iterable[Any]) -> Self:
        """Columns in the order of the fields."""
        return cls(*columns)

    @property
    def n_covariates(self) -> int:
        return int(self.x.shape[1])

    def take(self, rows: np.ndarray) -> Self:
        """Some of the rows."""
        return self.from_columns(column[rows] for column in self)


def _writable(column: Any, kind: type) -> npt.NDArray[Any]:
    return np.require(column, kind, ["C", "W"])


def merged(*parts: Comparisons, map: Map = serial_map) -> Comparisons:
    """All rows in one order, equal ones as one row whose count is the sum.

    The player with the smaller number is the first: a row whose players are swapped has the opposite covariates and
    offset, and the other result. Rows whose counts sum to 0 are left out: a part with negative counts takes games away.
    The order is that by first, second, covariates, result, weight and offset.

    Raises CovariateError: a covariate is not finite. Raises ValueError: a player has a game against itself.
    """
    columns = zip(*parts, strict=True)
    rows = parts[0] if len(parts) == 1 else Comparisons.from_columns(np.concatenate(of) for of in columns)
    m = len(rows.first)
    if m == 0:
        return rows
    if (rows.first == rows.second).any():
        raise ValueError(f"player {int(rows.first[np.argmax(rows.first == rows.second)])} has a game against itself")
    order, starts = _by_pair(rows.first, rows.second)
    found = Comparisons.from_columns(np.empty_like(column) for column in rows)
    pairs = len(starts) - 1
    used = np.empty(pairs, np.int64)
    # columns of one number are read at one place: random access to a column costs more than the rest of a row
    alone = np.array([int((column != column[0]).any()) for column in (rows.weight, rows.offset, rows.count)])
    map(lambda start, stop: _merge_pairs(start, stop, order, starts, rows, alone, found, used), pairs)
    if (used < 0).any():
        column = int(-1 - used.min())
        value = float(rows.x[np.argmin(np.isfinite(rows.x[:, column])), column])
        raise CovariateError(column, f"must be finite, got {value!r}")
    stops = np.append(np.int64(0), np.cumsum(used))
    if stops[-1] == m and found.count.all():
        return found
    dense = Comparisons.from_columns(np.empty((stops[-1], *column.shape[1:]), column.dtype) for column in rows)
    map(lambda start, stop: _close_gaps(start, stop, starts, stops, found, dense), pairs)
    return dense if dense.count.all() else dense.take(dense.count != 0.0)


def _by_pair(first: Ints, second: Ints) -> tuple[Longs, Longs]:
    """The rows in the order of pairs, ``~i`` for a row whose players are swapped, and the first row of each pair."""
    m, n = len(first), int(max(first.max(), second.max())) + 1
    order, starts = np.empty(m, np.int64), np.empty(m + 1, np.int64)
    pairs = _sort_pairs(first, second, np.int64(n), order, starts)
    return order, starts[: pairs + 1].copy()


@exact
def _sort_pairs(first, second, n, order, starts):
    """Write the order of rows and the first row of each pair; returns the number of pairs.

    Both passes read in order, and write to as many places as there are players.
    """
    m = len(first)
    halfway, low, high = np.empty(m, np.int64), np.empty(m, np.int32), np.empty(m, np.int32)
    others = np.empty(m, np.int32)
    at_high, at_low = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    for i in range(m):
        at_high[max(first[i], second[i]) + 1] += 1
        at_low[min(first[i], second[i]) + 1] += 1
    for p in range(n):
        at_high[p + 1] += at_high[p]
        at_low[p + 1] += at_low[p]
    begins = at_low.copy()
    for i in range(m):
        swapped = first[i] > second[i]
        one, other = (second[i], first[i]) if swapped else (first[i], second[i])
        k = at_high[other]
        halfway[k], low[k], high[k] = ~i if swapped else i, one, other
        at_high[other] = k + 1
    for i in range(m):
        k = at_low[low[i]]
        order[k], others[k] = halfway[i], high[i]
        at_low[low[i]] = k + 1
    pairs = 0
    for p in range(n):
        for k in range(begins[p], begins[p + 1]):
            if k == begins[p] or others[k] != others[k - 1]:
                starts[pairs] = k
                pairs += 1
    starts[pairs] = m
    return pairs


@inner_exact
def _compare(keys, i, j):
    """-1, 0 or 1 as row ``i`` of the keys is before, equal to or after row ``j``."""
    for k in range(keys.shape[1]):
        if keys[i, k] != keys[j, k]:
            return -1 if keys[i, k] < keys[j, k] else 1
    return 0


@inner_exact
def _sort(keys, rows, n, stack):
    """Sort the numbers ``rows[:n]`` of rows of the keys: quicksort in three ways. ``stack``: space for 128 numbers."""
    top = 0
    stack[0], stack[1] = 0, n
    while top >= 0:
        low, high = stack[2 * top], stack[2 * top + 1]
        top -= 1
        while high - low > _FEW:
            one, middle, last = rows[low], rows[(low + high) // 2], rows[high - 1]
            if _compare(keys, one, middle) > 0:
                one, middle = middle, one
            if _compare(keys, middle, last) > 0:
                middle = last if _compare(keys, one, last) <= 0 else one
            less, more, i = low, high, low
            while i < more:
                side = _compare(keys, rows[i], middle)
                if side < 0:
                    rows[i], rows[less] = rows[less], rows[i]
                    less += 1
                    i += 1
                elif side > 0:
                    more -= 1
                    rows[i], rows[more] = rows[more], rows[i]
                else:
                    i += 1
            top += 1  # the larger side waits: the stack stays short
            if less - low > high - more:
                stack[2 * top], stack[2 * top + 1] = low, less
                low = more
            else:
                stack[2 * top], stack[2 * top + 1] = more, high
                high = less
        for i in range(low + 1, high):
            row, k = rows[i], i
            while k > low and _compare(keys, rows[k - 1], row) > 0:
                rows[k] = rows[k - 1]
                k -= 1
            rows[k] = row


@exact
def _merge_pairs(start, stop, order, starts, rows, alone, found, used):
    """Sort and merge the rows of some pairs in place of all of them.

    Writes how many are left of each; -1 less the column of a covariate that is not finite.
    """
    longest, c = 0, rows.x.shape[1]
    for pair in range(start, stop):
        longest = max(longest, starts[pair + 1] - starts[pair])
    keys, counts = np.empty((longest, c + 3)), np.empty(longest)
    turn, stack = np.empty(longest, np.int64), np.empty(128, np.int64)
    for pair in range(start, stop):
        begin, bad = starts[pair], np.int64(0)
        n = starts[pair + 1] - begin
        for k in range(n):
            i, sign, y = order[begin + k], 1.0, 0.0
            if i < 0:
                i, sign = ~i, -1.0
                y = 1.0 - rows.result[i]
            else:
                y = rows.result[i] + 0.0
            for j in range(c):
                keys[k, j] = sign * rows.x[i, j] + 0.0  # -0 becomes 0
                if not math.isfinite(keys[k, j]):
                    bad = np.int64(-1 - j)
            keys[k, c] = y
            keys[k, c + 1] = rows.weight[i * alone[0]]
            keys[k, c + 2] = sign * rows.offset[i * alone[1]] + 0.0
            counts[k], turn[k] = rows.count[i * alone[2]], k
        used[pair] = bad
        if bad < 0:
            continue
        one = order[begin] if order[begin] >= 0 else ~order[begin]
        low, high = min(rows.first[one], rows.second[one]), max(rows.first[one], rows.second[one])
        _sort(keys, turn, n, stack)
        last = begin - 1
        for k in range(n):
            row = turn[k]
            if k > 0 and _compare(keys, turn[k - 1], row) == 0:
                found.count[last] += counts[row]
                continue
            last += 1
            found.first[last], found.second[last] = low, high
            for j in range(c):
                found.x[last, j] = keys[row, j]
            found.result[last], found.weight[last] = keys[row, c], keys[row, c + 1]
            found.offset[last], found.count[last] = keys[row, c + 2], counts[row]
        used[pair] = last + 1 - begin


@exact
def _close_gaps(start, stop, starts, stops, found, dense):
    """Copy the rows that are left to their places without gaps."""
    for pair in range(start, stop):
        i = starts[pair]
        for k in range(stops[pair], stops[pair + 1]):
            dense.first[k], dense.second[k] = found.first[i], found.second[i]
            for j in range(dense.x.shape[1]):
                dense.x[k, j] = found.x[i, j]
            dense.result[k], dense.weight[k] = found.result[i], found.weight[i]
            dense.offset[k], dense.count[k] = found.offset[i], found.count[i]
            i += 1
