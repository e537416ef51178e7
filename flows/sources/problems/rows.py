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
        self._codes: tuple[list[Ints], ...] = ([], [], [])
        self._share: list[Floats] = []
        self._after: list[Floats | int] = []  # the number of rows, if all are unknown
        self._attempts: list[Ints | int] = []

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
            codes.append(np.array(new, np.int32)[column.indices.to_numpy()])
        n = len(share)
        self._share.append(share)
        self._after.append(n if after is None or np.isnan(after).all() else after)
        self._attempts.append(n if attempts is None or (attempts < 0).all() else attempts)

    def rows(self, error_at: Callable[[str, int], SourceError]) -> ResultRows:
        """All rows; the builder is empty then."""
        contest, player, problem = (
            Named(_joined(codes, np.int32), pa.array(list(known), pa.string()))
            for known, codes in zip(self._known, self._codes, strict=True)
        )
        share = _joined(self._share, np.float64)
        after = _filled(self._after, np.float64, np.nan)
        return ResultRows(contest, player, problem, share, after, _filled(self._attempts, np.int32, -1), error_at)


def _joined(parts: list[Any], kind: type) -> npt.NDArray[Any]:
    """The parts one after the other; they are released."""
    joined = np.concatenate([np.empty(0, kind), *parts])
    parts.clear()
    return joined


def _filled(parts: list[Any], kind: type, unknown: float) -> npt.NDArray[Any] | None:
    """The parts one after the other, None if they are all unknown; a number stands for so many unknown rows."""
    if all(isinstance(part, int) for part in parts):
        return None
    return _joined([np.full(part, unknown, kind) if isinstance(part, int) else part for part in parts], kind)
