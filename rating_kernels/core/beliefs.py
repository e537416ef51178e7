"""Beliefs: the state of every player, in a store whose rows kernels write in place.

A round reads and writes the rows of its participants only, in random order. Therefore the numbers of a player are
adjacent in memory (each column is a strided view of one table of records). Past performances of a player are adjacent
too, in a segment of a shared pool with room to grow. A row costs a few cache misses instead of one for every column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from .jit import exact, inner_exact
from .numerics import prefetch
from .ragged import Ragged, Shared
from .standings import Floats, Ints, Longs

Column = npt.NDArray[Any]
AnyColumn = Column | Ragged | Shared  # one entry, or one list, a player; or an array that all share

LANES = 4  # factors a vector register
LINE = 8  # float64 a cache line; also the first capacity, most players take part a few times only
NEVER = int(np.iinfo(np.int64).min)  # last time of a player without one: no days pass before the first round
_FIRST_POOL = 1 << 26  # places: address space only, pages are used when written
_AHEAD = 8  # rows to prefetch when all are read in order
_NEXT = 16  # participants to prefetch while small rounds are rated: twice eight games
_FLOAT = np.dtype(np.float64)
_GROWTH = 4  # times the required size, when the pool is full
_FULL = 0.75  # share of a compacted pool in use, from which it grows


class Store(NamedTuple):
    """The columns that all beliefs have, as kernels take them; see :class:`Beliefs`."""

    mu: Floats
    sigma: Floats
    n_rounds: Ints
    last_time: Longs


class Segments(NamedTuple):
    """The segments of all rows in a pool of past performances, as kernels take them; see :class:`History`."""

    start: Longs
    length: Ints
    capacity: Ints
    pool: Floats
    used: Longs


class Map(Protocol):
    """``map(work, n)`` calls ``work(start, stop)`` for ranges that together are ``range(n)``, in any order."""

    def __call__(self, work: Callable[[int, int], None], n: int, *filled: npt.NDArray[Any]) -> None:
        """Return when all ranges are done.

        ``filled`` are the arrays that ``work`` writes, if given: a range writes ``filled[start:stop]`` only.
        Workers without shared memory can then divide the ranges and exchange the filled parts. Without ``filled`` each
        of them computes all ranges.
        """


def serial_map(work: Callable[[int, int], None], n: int, *filled: npt.NDArray[Any]) -> None:
    """Map without parallelism: one range in the calling thread."""
    work(0, n)


class Beliefs:
    """The beliefs about many players, indexed by their dense numbers.

    Parameters
    ----------
    n_players
        Initial number of rows; all are newcomers.
    initial
        ``mu``, ``sigma`` and further state columns of a newcomer.
    history_parts
        Numbers stored for every past round; none by default.
    shared
        Names and shapes of arrays that all players share; zero at first, none by default.

    Attributes
    ----------
    mu, sigma : float64[n]
        Most likely skill and its uncertainty, rating points.
    n_rounds : int32[n]
        Rounds rated so far.
    last_time : int64[n]
        Latest end of a round rated so far, UTC seconds; or :data:`NEVER`.
    state : dict of str to float64[n]
        Further state columns of the system: factors of the belief, volatility.
    history : History or None
        Past performances, if the system stores them.
    shared : dict of str to float64[...]
        State of the run that belongs to no player; see :mod:`.learning`.
    """

    def __init__(
        self,
        n_players: int,
        initial: dict[str, float],
        history_parts: tuple[str, ...] = (),
        shared: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        self._initial = initial
        self.shared: dict[str, Floats] = {name: np.zeros(shape) for name, shape in (shared or {}).items()}
        fields = [*((name, np.float64) for name in initial), ("last_time", np.int64), ("n_rounds", np.int32)]
        if history_parts:
            fields += [("length", np.int32), ("start", np.int64), ("capacity", np.int32)]
        self._table = self._records = _aligned(np.zeros, 0, np.dtype(fields))
        self.history = History(self._table, history_parts) if history_parts else None
        self.resize(n_players)

    def __len__(self) -> int:
        return len(self._records)

    @property
    def store(self) -> Store:
        """The columns that all beliefs have, for kernels."""
        return Store(*map(self.column, Store._fields))

    def column(self, name: str) -> Column:
        """A column for kernels, which may be longer than the store.

        It has at least two rows: the column of a single record is contiguous, and kernels would be compiled once more.
        """
        column: Column = self._table[name]
        return column

    @property
    def segments(self) -> Segments:
        """The segments of :attr:`history`, for kernels."""
        assert self.history is not None
        return self.history.segments

    def resize(self, n_players: int) -> None:
        """Grow the store to at least ``n_players`` rows; new rows are newcomers."""
        old = len(self._records)
        if n_players > old or old == 0:
            table = _aligned(np.zeros, max(n_players, 2), self._table.dtype)
            table[:old] = self._records
            for name, value in [*self._initial.items(), ("last_time", NEVER)]:
                table[name][old:] = value
            self._table, self._records = table, table[:n_players]
        records = self._records
        self.mu, self.sigma, self.last_time = records["mu"], records["sigma"], records["last_time"]
        self.n_rounds = records["n_rounds"]
        self.state = {name: records[name] for name in self._initial if name not in ("mu", "sigma")}
        if self.history is not None:
            self.history.view(self._table, n_players=len(records))

    def reserve(self, rows: Ints) -> None:
        """Ensure that each of ``rows`` has room for one more round."""
        if self.history is not None:
            self.history.reserve(self.history.places_needed(0, len(rows), rows))

    def allocate(self, start: int, stop: int, rows: Ints) -> int:
        """Allocate reserved pool places for one more round of each of ``rows[start:stop]``; returns the first."""
        assert self.history is not None
        return self.history.allocate(self.history.places_needed(start, stop, rows))

    def columns(self, map: Map = serial_map) -> dict[str, AnyColumn]:
        """The beliefs about all players, as arrays; :meth:`restore` is the exact inverse."""
        return self.take(None, map)

    def take(self, rows: npt.NDArray[np.integer] | None, map: Map = serial_map) -> dict[str, AnyColumn]:
        """The beliefs about some players, all if None; :meth:`put` is the inverse, in this store or in another.

        What all players share is among the columns; :meth:`put` leaves it as it is.
        """
        at = slice(None) if rows is None else rows
        plain: dict[str, AnyColumn] = {name: np.array(self._records[name][at]) for name in self._columns}
        plain |= self.shared_columns
        if self.history is None:
            return plain
        return plain | {f"history_{name}": column for name, column in self.history.ragged(rows, map).items()}

    def put(self, rows: npt.NDArray[np.integer], columns: dict[str, AnyColumn]) -> None:
        """Set the beliefs about some players to columns that :meth:`take` returned."""
        for name in self._columns:
            self._records[name][rows] = columns[name]
        if self.history is not None:
            self.history.put(rows, {name: columns[f"history_{name}"] for name in self.history.parts})  # type: ignore[misc]

    def restore(self, columns: dict[str, AnyColumn]) -> None:
        """Set the beliefs about the first players from columns, and what all share; all others become newcomers.

        Raises
        ------
        ValueError
            If the column names are not those of this system. A value of a player's own that systems got later, NaN by
            default, may be missing.
        """
        absent = {name for name, value in self._initial.items() if math.isnan(value) and name not in columns}
        expected = {*self._columns, *self.shared} - absent
        parts = () if self.history is None else self.history.parts
        expected |= {f"history_{name}" for name in parts}
        if set(columns) != expected:
            raise ValueError(f"stored beliefs have columns {sorted(columns)}, this system keeps {sorted(expected)}")
        n_players, self._records = len(self), self._records[:0]
        self.resize(max(n_players, len(columns["mu"])))
        for name in expected & set(self._records.dtype.names or ()):
            self._records[name][: len(columns["mu"])] = columns[name]
        if self.history is not None:
            self.history.fill({name: columns[f"history_{name}"] for name in parts})  # type: ignore[misc]
        self.share(columns)

    @property
    def shared_columns(self) -> dict[str, AnyColumn]:
        """Copies of what all players share, as :meth:`take` has them."""
        return {name: Shared(values.copy()) for name, values in self.shared.items()}

    def share(self, columns: Mapping[str, Any]) -> None:
        """Set what all players share from columns; raises ``ValueError`` for an array of another size."""
        for name, values in self.shared.items():
            values[...] = columns[name].values.reshape(values.shape)

    @property
    def _columns(self) -> tuple[str, ...]:
        """Names of the columns with one number a player."""
        return (*self._initial, "last_time", "n_rounds")


class History:
    """Logistic factors of many players, oldest first: each a performance, a force and an inverse width.

    A factor pulls a rating ``x`` with ``shrink * force * tanh((x - perf) * inverse_width)``. ``shrink`` is one number a
    player, stored by the system, because a diffusion shrinks all factors of a player by the same ratio.

    ``start``, ``length``, ``capacity`` (int64[n], int32[n], int32[n]): a player's segment of the pool has ``capacity``
    performances, then as many forces, then as many inverse widths. The first ``length`` of each are in use; zeros
    follow up to the end of the last register. Capacities are multiples of :data:`LINE`, and the pool begins at a cache
    line: vector loops process whole registers, and no part shares a line with another one. Where the oldest factors
    were deleted (:func:`make_room`), ``start`` is up to ``LINE - 1`` places after the begin of the segment, and each
    part has as many places less.
    ``pool`` (float64[...]).
    ``used`` (int64[1]): pool places allocated.
    """

    def __init__(self, records: Column, parts: tuple[str, ...]) -> None:
        self.parts = parts
        self.pool: Floats = np.empty(0)
        self.used: Longs = np.zeros(1, dtype=np.int64)
        self._lock = Lock()
        self.view(records, 0)

    def view(self, records: Column, n_players: int) -> None:
        """Use new records after the store was resized."""
        self._records = records
        self.start: Longs = records["start"][:n_players]
        self.length: Ints = records["length"][:n_players]
        self.capacity: Ints = records["capacity"][:n_players]

    @property
    def segments(self) -> Segments:
        """The arrays, for kernels; see :meth:`Beliefs.column`."""
        records = self._records
        return Segments(records["start"], records["length"], records["capacity"], self.pool, self.used)

    def places_needed(self, start: int, stop: int, rows: Ints) -> int:
        """Pool places that ``rows[start:stop]`` require for one more round each."""
        places: int = places_needed(start, stop, rows, self.segments, len(self.parts))
        return places

    def reserve(self, places: int) -> None:
        """Ensure that ``places`` pool places can be allocated; segments may move.

        A full pool is compacted: the segments that rows left when they grew are about half of it. The pool grows if
        this leaves less than a quarter free.
        """
        if int(self.used[0]) + places <= len(self.pool):
            return
        used = self._compact()
        if used + places > _FULL * len(self.pool):
            pool = _aligned(np.empty, max(_GROWTH * (used + places), _FIRST_POOL))
            pool[:used] = self.pool[:used]
            self.pool = pool
        self.used[0] = used

    def _compact(self) -> int:
        """Move all segments to the begin of the pool, in order; returns the first place after them."""
        rows = np.flatnonzero(self.capacity)
        used: int = _move_together(rows[np.argsort(self.start[rows])], self.segments, len(self.parts))
        return used

    def allocate(self, places: int) -> int:
        """Allocate reserved pool places; returns the first. Thread-safe."""
        with self._lock:
            first = int(self.used[0])
            self.used[0] += places
        return first

    def ragged(self, rows: npt.NDArray[np.integer] | None = None, map: Map = serial_map) -> dict[str, Ragged]:
        """The factors of each of ``rows`` by part: ``perf``, ``force``, ``inverse_width``."""
        at = np.arange(len(self.start)) if rows is None else np.asarray(rows, dtype=np.int64)
        offsets = Ragged.from_lengths(self.length[at], np.empty(0)).offsets
        values = np.empty((len(self.parts), offsets[-1]))
        map(lambda start, stop: _gather(start, stop, at, self.segments, offsets, values), len(at))
        return {name: Ragged(offsets, part) for name, part in zip(self.parts, values, strict=True)}

    def put(self, rows: npt.NDArray[np.integer], columns: dict[str, Ragged]) -> None:
        """The inverse of :meth:`ragged`; a history that exceeds its segment moves to a new one."""
        offsets, lengths = columns[self.parts[0]].offsets, columns[self.parts[0]].lengths
        at = np.asarray(rows, dtype=np.int64)
        moves = np.flatnonzero(lengths > self.capacity[at])
        room = np.maximum(-(-lengths[moves] // LINE) * LINE, 2 * self.capacity[at[moves]])
        places = len(self.parts) * np.cumsum(room, dtype=np.int64)
        if len(moves):
            self.reserve(int(places[-1]))
            self.start[at[moves]] = self.allocate(int(places[-1])) + places - len(self.parts) * room
            self.capacity[at[moves]] = room
        self.start[at] -= self.start[at] % LINE
        self.length[at] = lengths
        _scatter(at, self.segments, offsets, np.stack([columns[name].values for name in self.parts]))

    def fill(self, columns: dict[str, Ragged]) -> None:
        """The inverse of :meth:`ragged` for the first players; factors keep their bits."""
        offsets = columns[self.parts[0]].offsets
        n = len(offsets) - 1
        self.length[:], self.capacity[:], self.start[:] = 0, 0, 0
        self.length[:n] = columns[self.parts[0]].lengths
        self.capacity[:n] = -(-self.length[:n] // LINE) * LINE
        ends = len(self.parts) * np.cumsum(self.capacity, dtype=np.int64)
        self.start[1:] = ends[:-1]
        self.used[0] = ends[-1] if len(ends) else 0
        self.pool = _aligned(np.zeros, int(self.used[0]))
        _scatter(np.arange(n), self.segments, offsets, np.stack([columns[name].values for name in self.parts]))


def _aligned(make: Callable[..., Column], n: int, dtype: np.dtype[Any] = _FLOAT) -> Column:
    """``n`` items that ``make`` allocates, aligned to a cache line."""
    line = LINE * _FLOAT.itemsize
    raw = make(n * dtype.itemsize + line, dtype=np.uint8)
    skip = -raw.ctypes.data % line
    return raw[skip : skip + n * dtype.itemsize].view(dtype)


@inner_exact
def prefetch_records(begin, end, player, first, last):
    """Prefetch the records of ``player[begin:end]``.

    ``first`` and ``last`` are the first and the last column that a kernel uses: a record may be in two cache lines.
    """
    for i in range(begin, end):
        prefetch(first, player[i])
        prefetch(last, player[i])


@inner_exact
def prefetch_next(begin, end, player, first, last):
    """Prefetch the records of participants, for small rounds in sequence: those after ``player[begin:end]``."""
    prefetch_records(begin + _NEXT, min(end + _NEXT, len(player)), player, first, last)


@exact
def places_needed(begin, end, rows, history, parts):
    """Pool places that ``rows[begin:end]`` require for one more factor each: a full segment moves to a longer one."""
    places = 0
    for i in range(begin, end):
        room = history.capacity[rows[i]]
        places += parts * max(2 * room, LINE) if history.length[rows[i]] == room else 0
    return places


@exact
def _move_together(rows, history, parts):
    """Move the segments of ``rows``, in order of their places, one behind the other; returns the first place after."""
    start, capacity, pool = history.start, history.capacity, history.pool
    used = 0
    for i in range(len(rows)):
        row = rows[i]
        first = start[row] - start[row] % LINE
        for k in range(parts * capacity[row]):
            pool[used + k] = pool[first + k]
        start[row] += used - first
        used += parts * capacity[row]
    return used


@inner_exact
def grow(row, new, history, parts):
    """Move a full row to a segment twice as long that begins at ``new``; returns the first place after it."""
    old, old_capacity, pool = history.start[row], history.capacity[row], history.pool
    new_capacity = max(2 * old_capacity, LINE)
    for part in range(parts):
        for k in range(old_capacity):
            pool[new + part * new_capacity + k] = pool[old + part * old_capacity + k]
        for k in range(old_capacity, new_capacity):
            pool[new + part * new_capacity + k] = 0.0
    history.start[row] = new
    history.capacity[row] = new_capacity
    return new + parts * new_capacity


@inner_exact
def make_room(row, dropped, history, parts):
    """Delete a row's ``dropped`` oldest factors and make room for one more; the row must not be full before.

    The others stay where they are, and the row starts later, as long as it starts in the first line of its segment and
    has whole registers: to move a hundred factors takes longer than to read them.
    """
    start, pool = history.start, history.pool
    head, n, room = start[row] % LINE, history.length[row] - dropped, history.capacity[row]
    history.length[row] = n
    if head + dropped < LINE and head + dropped + (n // LANES + 1) * LANES <= room:
        start[row] += dropped
        return
    shift = head + dropped
    start[row] -= head
    for part in range(parts):
        first = start[row] + part * room
        for k in range(np.uint64(first), np.uint64(first + n)):
            pool[k] = pool[k + np.uint64(shift)]
        for k in range(np.uint64(first + n), np.uint64(first + n + shift)):
            pool[k] = 0.0


@exact
def _gather(begin, end, rows, history, offsets, values):
    start, capacity, pool = history.start, history.capacity, history.pool
    for i in range(begin, end):
        row = rows[i]
        if i + _AHEAD < end:
            ahead = rows[i + _AHEAD]
            for part in range(len(values)):
                prefetch(pool, start[ahead] + part * capacity[ahead])
        for part in range(len(values)):
            for k in range(history.length[row]):
                values[part, offsets[i] + k] = pool[start[row] + part * capacity[row] + k]


@exact
def _scatter(rows, history, offsets, values):
    for i in range(len(rows)):
        row = rows[i]
        for part in range(len(values)):
            first = history.start[row] + part * history.capacity[row]
            for k in range(history.length[row]):
                history.pool[first + k] = values[part, offsets[i] + k]
            for k in range(history.length[row], history.capacity[row]):
                history.pool[first + k] = 0.0
