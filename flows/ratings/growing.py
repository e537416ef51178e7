"""What updates make larger, in parts: an update costs its own contests and participants, whatever was rated before.

No part ever changes, so that ratings share parts with the ratings before them, of which several updates may be made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import or_
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from ranklake.rating_kernels.core.ragged import Ragged, Shared

from ..execution.rater import BeliefColumns
from ..frames.beliefs import PlayerBeliefs, report_no_common_player
from ..frames.kinds import as_kind, concat, open_frame, to_pandas

T = TypeVar("T")
Longs = npt.NDArray[np.int64]


def _piled(
    parts: Sequence[T], new: T, merge: Callable[[T, T], T | None], size: Callable[[Any], int] = len
) -> tuple[T, ...]:
    """The parts with a new one, which is merged with the parts before it that are not larger.

    So each part is larger than the next one: ``n`` rows are at most ``log2(n) + 1`` parts, and a row is copied at most
    ``log2(n)`` times. Two parts for which ``merge`` returns None stay apart.
    """
    kept = list(parts)
    while kept and size(kept[-1]) <= size(new) and (merged := merge(kept[-1], new)) is not None:
        kept, new = kept[:-1], merged
    return (*kept, new)


class _Rows(NamedTuple):
    """The beliefs about some players, by ascending number."""

    numbers: Longs
    columns: BeliefColumns

    def of(self, wanted: Longs) -> _Rows:
        """Those about some of these players that are here."""
        at = np.searchsorted(self.numbers, wanted)
        here = np.flatnonzero(at < len(self.numbers))
        here = here[self.numbers[at[here]] == wanted[here]]
        return _Rows(wanted[here], {name: _take(column, at[here]) for name, column in self.columns.items()})


def _latest(*parts: _Rows) -> _Rows:
    """The beliefs of all parts; of a player who is in several, those of the last one."""
    numbers = np.concatenate([part.numbers for part in parts])
    found, back = np.unique(numbers[::-1], return_index=True)
    columns: BeliefColumns = {}
    for name, column in parts[0].columns.items():
        every: Any = [part.columns[name] for part in parts]
        if isinstance(column, Shared):
            columns[name] = every[-1]
            continue
        together = Ragged.concat(every) if isinstance(column, Ragged) else np.concatenate(every)
        columns[name] = _take(together, len(numbers) - 1 - back)
    return _Rows(found, columns)


def _take(column: Any, rows: Longs) -> Any:
    if not isinstance(column, Ragged):
        return column.take(rows)
    begins, ends = column.offsets[rows], column.offsets[rows + 1]  # Ragged.take computes all lengths
    lists = [column.values[begin:end] for begin, end in zip(begins, ends, strict=True)]
    return Ragged.from_lengths(ends - begins, np.concatenate([np.empty(0), *lists]))


@dataclass(frozen=True, eq=False)
class GrowingBeliefs:
    """Beliefs about all players: a part of all before the updates, then parts of the participants of updates.

    ``facts``: what computed the beliefs, and the events so far; its players and columns are not used.
    ``rows``: beliefs by the number of the player. The last part with a player counts.
    ``names``: the numbers of all players, in their order.
    """

    facts: PlayerBeliefs
    rows: tuple[_Rows, ...]
    names: tuple[dict[Any, int], ...]

    @classmethod
    def of(cls, beliefs: PlayerBeliefs) -> GrowingBeliefs:
        """Beliefs before all updates."""
        numbers = {player: number for number, player in enumerate(beliefs.players)}
        return cls(beliefs, (_Rows(np.arange(len(numbers)), beliefs.columns),), (numbers,))

    @property
    def all(self) -> PlayerBeliefs:
        """The beliefs about all players, in order of first appearance."""
        return replace(self.facts, players=list(chain.from_iterable(self.names)), columns=_latest(*self.rows).columns)

    def of_players(self, players: Sequence[Any]) -> PlayerBeliefs:
        """The beliefs about those of these players who have any, as beliefs before further contests of all of them.

        Warns, or raises ValueError, if none of them has any, as ``InitialBeliefs.store``.
        """
        named = {number: player for player in players if (number := self._number(player)) is not None}
        if not named and players and any(self.names):
            report_no_common_player(next(chain.from_iterable(self.names)), players[0])
        wanted = np.array(sorted(named), dtype=np.int64)
        columns = _latest(*(part.of(wanted) for part in self.rows)).columns
        return replace(self.facts, players=[named[number] for number in wanted.tolist()], columns=columns)

    def with_rated(self, beliefs: PlayerBeliefs) -> GrowingBeliefs:
        """These beliefs after further contests, given those about their participants."""
        n = sum(map(len, self.names))
        new = {player: n + i for i, player in enumerate(p for p in beliefs.players if self._number(p) is None)}
        numbers = np.array([new[p] if p in new else self._number(p) for p in beliefs.players], dtype=np.int64)
        order = np.argsort(numbers)
        rows = _Rows(numbers[order], {name: _take(column, order) for name, column in beliefs.columns.items()})
        piled = _piled(self.rows, rows, _latest, lambda part: len(part.numbers))
        return GrowingBeliefs(beliefs, piled, _piled(self.names, new, or_) if new else self.names)

    def _number(self, player: Any) -> int | None:
        return next((names[player] for names in self.names if player in names), None)


@dataclass(frozen=True, eq=False)
class GrowingHistory:
    """The rated participations before the updates and of each update.

    ``kind``: the kind of the whole history, as of :class:`ranklake.flows.frames.kinds.Frame`.
    ``frames``: its parts: pandas frames, or Arrow tables.
    ``contests``: the names of all rated contests.
    """

    kind: str
    frames: tuple[Any, ...]
    contests: tuple[frozenset[Any], ...]

    @classmethod
    def of(cls, history: Any, kind: str) -> GrowingHistory:
        """The history before all updates."""
        frame = _opened(history, kind)
        return cls(kind, (frame,), (_contests_of(frame),))

    @property
    def all(self) -> Any:
        """The whole history, as a frame of its kind."""
        return as_kind(concat(self.frames), self.kind)

    @property
    def last(self) -> Any:
        """Its last rows, at least one if it has any."""
        return next((frame for frame in reversed(self.frames) if len(frame)), self.frames[0])

    @property
    def last_number(self) -> int:
        """The name of the last contest if it is a whole number, as games without names have; 0 otherwise."""
        column = self.last["contest"]
        last = column[len(column) - 1] if isinstance(column, pa.ChunkedArray) else column.iloc[-1] if len(column) else 0
        last = last.as_py() if isinstance(last, pa.Scalar) else last
        return int(last) if isinstance(last, int | np.integer) else 0

    def has(self, contest: Any) -> bool:
        """Whether a contest of this name is rated."""
        return any(contest in names for names in self.contests)

    def with_rated(self, history: Any) -> GrowingHistory:
        """This history with further participations; a column that one of both lacks is null there.

        Raises ValueError: a column is of another type.
        """
        frames, new = self.frames, _opened(history, self.kind)
        if isinstance(new, pa.Table):
            concat([frame.slice(0, 0) for frame in (*frames, new)])  # checks the types
        elif all(_is_numbered(frame.index) for frame in (*frames, new)):
            n_rows = sum(map(len, frames))
            frames = (_numbered(frames[0], 0), *frames[1:])
            new = _numbered(new, n_rows)
        contests = _piled(self.contests, _contests_of(new), or_)
        return GrowingHistory(self.kind, _piled(frames, new, _joined), contests)


def _opened(history: Any, kind: str) -> Any:
    return to_pandas(history) if kind in ("pandas", "dask") else open_frame(history).arrow()


def _contests_of(frame: Any) -> frozenset[Any]:
    column = frame["contest"] if isinstance(frame, pd.DataFrame) else frame.column("contest").to_pandas()
    return frozenset(column.unique().tolist())


def _is_numbered(index: pd.Index[Any]) -> bool:
    """Whether an index counts rows; pandas 2 has no range after a selection of rows in order."""
    whole = pd.api.types.is_integer_dtype(index.dtype)
    return isinstance(index, pd.RangeIndex) or (whole and bool((np.diff(index.to_numpy()) == 1).all()))


def _numbered(frame: pd.DataFrame, first: int) -> pd.DataFrame:
    """The frame with an index of consecutive numbers."""
    index = pd.RangeIndex(first, first + len(frame))
    return frame if frame.index.equals(index) else frame.set_axis(index)


def _joined(one: Any, other: Any) -> Any:
    """Two parts as one; None if their columns or types differ, which only all parts together decide."""
    if isinstance(one, pa.Table):
        return concat([one, other]).combine_chunks() if one.schema == other.schema else None
    return concat([one, other]) if one.dtypes.equals(other.dtypes) else None
