"""Rows of results of problems in memory, each name as a number: 20 bytes a row, and 12 more with times and attempts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..base import SourceError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Named:
    """A column of names: ``codes`` (int32[rows]) are numbers of ``names``."""

    codes: Ints
    names: pa.StringArray


@dataclass(frozen=True)
class ResultRows:
    """Rows of results in the order of their source.

    ``share`` (float64[rows]): as in ``schemas.RESULTS``. ``after`` (float64[rows]): too, NaN if unknown.
    ``attempts`` (int32[rows]): too, -1 if unknown. None if unknown in all rows.
    ``error_at``: the error of a row, counted from 0, given the rule.
    """

    contest: Named
    player: Named
    problem: Named
    share: Floats
    after: Floats | None
    attempts: Ints | None
    error_at: Callable[[str, int], SourceError]

    def __len__(self) -> int:
        return len(self.share)


class RowsBuilder:
    """Collects rows, part by part."""

    def __init__(self) -> None:
        self._known: tuple[dict[str, int], ...] = ({}, {}, {})
        self._codes = tuple(_Column(np.int32, 0) for _ in self._known)
        self._share, self._after, self._attempts = (
            _Column(np.float64, 0.0),
            _Column(np.float64, np.nan),
            _Column(np.int32, -1),
        )
        self._n = 0

    def add(
        self,
        names: Sequence[pa.DictionaryArray],
        share: Floats,
        after: Floats | None = None,
        attempts: Ints | None = None,
    ) -> None:
        """Add rows: the names are those of contest, player and problem; the others as in :class:`ResultRows`."""
        for known, codes, column in zip(self._known, self._codes, names, strict=True):
            new = [known.setdefault(name, len(known)) for name in column.dictionary.to_pylist()]
            codes.add(np.array(new, np.int32)[column.indices.to_numpy()], self._n)
        self._share.add(share, self._n)
        if after is not None and not np.isnan(after).all():
            self._after.add(after, self._n)
        if attempts is not None and not (attempts < 0).all():
            self._attempts.add(attempts, self._n)
        self._n += len(share)

    def rows(self, error_at: Callable[[str, int], SourceError]) -> ResultRows:
        """All rows; the builder is not used again."""
        contest, player, problem = (
            Named(codes.all(self._n), pa.array(list(known), pa.string()))
            for known, codes in zip(self._known, self._codes, strict=True)
        )
        after, attempts = (None if not column.n else column.all(self._n) for column in (self._after, self._attempts))
        return ResultRows(contest, player, problem, self._share.all(self._n), after, attempts, error_at)


class _Column:
    """A growing array. It grows in place: many small arrays and their join would take twice its memory.

    ``n``: the length up to the last part that was added.
    """

    def __init__(self, kind: type, unknown: float) -> None:
        self._values: npt.NDArray[Any] = np.empty(0, kind)
        self._unknown, self.n = unknown, 0

    def add(self, part: npt.NDArray[Any], start: int) -> None:
        """Put a part at ``start``, after unknown values if rows before it have none."""
        self._fill(start, start + len(part))
        self._values[start : start + len(part)] = part
        self.n = start + len(part)

    def all(self, n: int) -> npt.NDArray[Any]:
        """The first ``n`` values."""
        self._fill(n, n)
        self._values.resize(n, refcheck=False)
        return self._values

    def _fill(self, start: int, stop: int) -> None:
        """Make room up to ``stop``; values from the last part to ``start`` are unknown."""
        if stop > len(self._values):
            # the new part is set to zero, so that it takes memory
            self._values.resize(max(stop, len(self._values) * 9 // 8), refcheck=False)
        self._values[self.n : start] = self._unknown
