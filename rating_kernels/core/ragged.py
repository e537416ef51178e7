"""Lists of different lengths end to end in one array, one list a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Ragged(NamedTuple):
    """One list of numbers a row: row ``i`` has ``values[offsets[i]:offsets[i + 1]]``.

    ``offsets`` (int64[n + 1]): from 0 to ``len(values)``.
    ``values`` (float64[...]).
    """

    offsets: Longs
    values: Floats

    @classmethod
    def from_lengths(cls, lengths: npt.NDArray[np.integer], values: Floats) -> Ragged:
        """Lists of these lengths."""
        return cls(np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))), values)

    @classmethod
    def concat(cls, parts: Sequence[Ragged]) -> Ragged:
        """The rows of all parts, one part after the other."""
        lengths = np.concatenate([part.lengths for part in parts])
        return cls.from_lengths(lengths, np.concatenate([part.values for part in parts]))

    @property
    def lengths(self) -> Longs:
        """Length of each row's list."""
        return np.diff(self.offsets)

    def take(self, rows: npt.NDArray[np.integer]) -> Ragged:
        """The lists of some rows, in this order, as copies."""
        lengths = self.lengths[rows]
        ends = np.cumsum(lengths)
        at = np.repeat(self.offsets[:-1][rows] - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
        return Ragged.from_lengths(lengths, self.values[at])

    def put(self, rows: npt.NDArray[np.integer], lists: Ragged) -> Ragged:
        """A copy in which the distinct ``rows`` have other lists."""
        source = np.arange(len(self.offsets) - 1)
        source[rows] = len(source) + np.arange(len(lists.offsets) - 1)
        return Ragged.concat([self, lists]).take(source)


class Shared(NamedTuple):
    """An array among the columns of beliefs that belongs to all players together: the state of the run.

    ``values`` (float64[...]).
    """

    values: Floats

    def take(self, rows: npt.NDArray[np.integer]) -> Shared:
        """The same array: it has no rows of players."""
        return self


def from_stored(columns: Mapping[str, Any]) -> dict[str, npt.NDArray[Any] | Ragged | Shared]:
    """Columns as a snapshot has them: lists are pairs of offsets and values, what all players share a single array."""
    return {name: _from_stored(column) if isinstance(column, tuple) else column for name, column in columns.items()}


def _from_stored(column: tuple[Any, ...]) -> Ragged | Shared:
    return Shared(*column) if len(column) == 1 else Ragged(*column)
