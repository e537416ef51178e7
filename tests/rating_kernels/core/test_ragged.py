"""Lists of different lengths in one array, against Python's lists."""

from __future__ import annotations

import numpy as np
import pytest

from ranklake.rating_kernels.core.ragged import Ragged, from_stored

LISTS = [[1.0, 2.0], [], [3.0], [], [4.0, 5.0, 6.0]]


def ragged(lists: list[list[float]]) -> Ragged:
    return Ragged.from_lengths(
        np.array([len(row) for row in lists], dtype=np.int64), np.array([value for row in lists for value in row])
    )


def lists_of(column: Ragged) -> list[list[float]]:
    assert (column.offsets.dtype, column.values.dtype) == (np.int64, np.float64)
    assert column.offsets[0] == 0
    assert column.offsets[-1] == len(column.values)
    return [part.tolist() for part in np.split(column.values, column.offsets[1:-1])]


@pytest.mark.parametrize("rows", [[0], [1], [4, 4, 0], [3, 2, 1, 0], range(5)], ids=str)
def test_take__gives_lists_in_the_order_of_the_rows(rows: list[int]) -> None:
    assert lists_of(ragged(LISTS).take(np.array(rows))) == [LISTS[row] for row in rows]


def test_take__of_no_rows_is_empty() -> None:
    nothing = ragged(LISTS).take(np.array([], dtype=np.int64))
    assert (nothing.offsets.tolist(), nothing.values.tolist()) == ([0], [])


def test_put__replaces_lists_in_a_copy() -> None:
    column = ragged(LISTS)
    changed = column.put(np.array([4, 1]), ragged([[7.0], [8.0, 9.0]]))
    assert lists_of(changed) == [[1.0, 2.0], [8.0, 9.0], [3.0], [], [7.0]]
    assert lists_of(column) == LISTS


def test_concat__then_take_puts_scattered_rows_into_order() -> None:
    column, rows = ragged(LISTS), [np.array([4, 0]), np.array([], dtype=np.int64), np.array([2, 1, 3])]
    parts = Ragged.concat([column.take(own) for own in rows])
    assert lists_of(parts.take(np.argsort(np.concatenate(rows)))) == LISTS


def test_from_stored__makes_lists_of_pairs_and_keeps_arrays() -> None:
    offsets, values = ragged(LISTS)
    columns = from_stored({"mu": values, "history": (offsets, values)})
    assert columns["mu"] is values
    assert lists_of(columns["history"]) == LISTS  # type: ignore[arg-type]
