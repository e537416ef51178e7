"""Beliefs: what is held about every player, as a store whose rows kernels write in place.

A round touches the rows of its participants and never the population, in no order that memory likes. So a player's
numbers lie side by side (each column is a strided view of one table of records), and so do its past performances, in a
stretch of a shared pool with room to grow: a row costs a few cache misses, not one for every column.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .jit import exact, inner_exact
from .numerics import prefetch
from .ragged import Ragged
from .standings import Floats, Ints, Longs

__all__ = ["LANES", "NEVER", "Beliefs", "Column", "History", "Map", "serial_map"]

Column = npt.NDArray[Any]

LANES = 4  # factors a vector register; also the first capacity, as most players are seen a handful of times
NEVER = int(np.iinfo(np.int64).min)  # the last time of a player who has none: no days pass before the first round
_LINE = 64  # bytes a cache line
_FIRST_POOL = 1 << 26  # places: address space only, pages are taken when they are written to
_AHEAD = 8  # rows, when all are read in order
_GROWTH = 4  # times what is needed, when the pool runs out


class Map(Protocol):
    """``map(work, n)`` calls ``work(start, stop)`` for ranges that together are ``range(n)``, in any order."""

    def __call__(self, work: Callable[[int, int], None], n: int, *filled: npt.NDArray[Any]) -> None:
        """Return when all of it is done.

        ``filled``, if it is told, are the arrays that ``work`` writes: ``filled[start:stop]`` is all that a range
        writes, whoever calls it. Hands without common memory then share the ranges and exchange what they filled;
        what is not told each of them does in full.
        """


def serial_map(work: Callable[[int, int], None], n: int, *filled: npt.NDArray[Any]) -> None:
    """The simplest map: one range."""
    work(0, n)


class Beliefs:
    """A store of many players, indexed by their dense numbers.

    Parameters
    ----------
    n_players
        Rows to begin with; all are newcomers.
    initial
        What a newcomer's ``mu``, ``sigma`` and further state columns are.
    history_parts
        What the system remembers of every past round, one number each; nothing by default.

    Attributes
    ----------
    mu, sigma : float64[n]
        Most likely skill and its uncertainty, rating points.
    n_rounds : int32[n]
        Rounds rated so far.
    last_time : int64[n]
        Latest end of a round rated so far, UTC seconds; or :data:`NEVER`.
    state : dict of str to float64[n]
        What else the system keeps a player: factors of its belief, volatility.
    history : History or None
        Past performances, where the system keeps them.
    """

    def __init__(self, n_players: int, initial: dict[str, float], history_parts: tuple[str, ...] = ()) -> None:
        self._initial = initial
        fields = [*((name, np.float64) for name in initial), ("last_time", np.int64), ("n_rounds", np.int32)]
        if history_parts:
            fields += [("length", np.int32), ("start", np.int64), ("capacity", np.int32)]
        self._dtype = np.dtype(fields)
        self._records = _records(0, self._dtype)
        self.history = History(self._records, history_parts) if history_parts else None
        self.resize(n_players)

    def __len__(self) -> int:
        return len(self._records)

    def resize(self, n_players: int) -> None:
        """Room for players up to ``n_players``; new ones are newcomers."""
        known = len(self._records)
        if n_players > known or known == 0:
            records = _records(n_players, self._dtype)
            records[:known] = self._records
            for name, value in [*self._initial.items(), ("last_time", NEVER)]:
                records[name][known:] = value
            self._records = records
        records = self._records
        self.mu, self.sigma, self.last_time = records["mu"], records["sigma"], records["last_time"]
        self.n_rounds = records["n_rounds"]
        self.state = {name: records[name] for name in self._initial if name not in ("mu", "sigma")}
        if self.history is not None:
            self.history.view(records)

    def reserve(self, rows: Ints) -> None:
        """See that each of ``rows`` can remember one more round."""
        if self.history is not None:
            self.history.reserve(self.history.places_needed(0, len(rows), rows))

    def columns(self, map: Map = serial_map) -> dict[str, Column | Ragged]:
        """Everything that is known, as arrays to be stored; :meth:`restore` is the inverse, to the bit."""
        return self.take(np.arange(len(self)), map)

    def take(self, rows: npt.NDArray[np.integer], map: Map = serial_map) -> dict[str, Column | Ragged]:
        """What is known of some players; :meth:`put` is the inverse, in this store or in another."""
        names = (*self._initial, "last_time", "n_rounds")
        plain: dict[str, Column | Ragged] = {name: self._records[name][rows] for name in names}
        if self.history is None:
            return plain
        return plain | {f"history_{name}": column for name, column in self.history.ragged(rows, map).items()}

    def put(self, rows: npt.NDArray[np.integer], columns: dict[str, Column | Ragged]) -> None:
        """Believe of some players what :meth:`take` gave."""
        for name in (*self._initial, "last_time", "n_rounds"):
            self._records[name][rows] = columns[name]
        if self.history is not None:
            self.history.put(rows, {name: columns[f"history_{name}"] for name in self.history.parts})  # type: ignore[misc]

    def restore(self, columns: dict[str, Column | Ragged]) -> None:
        """Believe of the first players what is stored; any others are newcomers.

        Raises
        ------
        ValueError
            If the columns are not those that this system keeps.
        """
        wanted = {*self._initial, "last_time", "n_rounds"}
        parts = () if self.history is None else self.history.parts
        wanted |= {f"history_{name}" for name in parts}
        if set(columns) != wanted:
            raise ValueError(f"stored beliefs have columns {sorted(columns)}, this system keeps {sorted(wanted)}")
        n_players, self._records = len(self), self._records[:0]
        self.resize(max(n_players, len(columns["mu"])))
        for name in wanted & set(self._records.dtype.names or ()):
            self._records[name][: len(columns["mu"])] = columns[name]
        if self.history is not None:
            self.history.fill({name: columns[f"history_{name}"] for name in parts})  # type: ignore[misc]


class History:
    """Logistic factors of many players, oldest first: each a performance, the force of its pull and its inverse width.

    A factor pulls a rating ``x`` with ``shrink * force * tanh((x - perf) * inverse_width)``; ``shrink`` is one number a
    player, kept by the system, because a diffusion shrinks all factors of a player alike.

    Attributes
    ----------
    start, length, capacity : int64[n], int32[n], int32[n]
        A player's stretch of the pool holds ``capacity`` performances, then as many forces, then as many inverse
        widths, of which the first ``length`` are in use and the others zero. Capacities are multiples of
        :data:`LANES`, so that vector loops run over whole registers.
    pool : float64[...]
    used : int64[1]
        Pool places handed out.
    """

    def __init__(self, records: Column, parts: tuple[str, ...]) -> None:
        self.parts = parts
        self.pool: Floats = np.empty(0)
        self.used: Longs = np.zeros(1, dtype=np.int64)
        self._lock = Lock()
        self.view(records)

    def view(self, records: Column) -> None:
        """Follow the store's records when they move."""
        self.start: Longs = records["start"]
        self.length: Ints = records["length"]
        self.capacity: Ints = records["capacity"]

    @property
    def arrays(self) -> tuple[Longs, Ints, Ints, Floats]:
        """The arrays in the order in which kernels take them."""
        return self.start, self.length, self.capacity, self.pool

    def places_needed(self, start: int, stop: int, rows: Ints) -> int:
        """Pool places that ``rows[start:stop]`` claim for one more round each."""
        places: int = places_needed(start, stop, rows, self.length, self.capacity, len(self.parts))
        return places

    def reserve(self, places: int) -> None:
        """See that ``places`` pool places can be claimed.

        Outgrown stretches stay where they are: together they are smaller than those in use.
        """
        used = int(self.used[0])
        if used + places > len(self.pool):
            pool = np.empty(max(_GROWTH * (used + places), _FIRST_POOL))
            pool[:used] = self.pool[:used]
            self.pool = pool

    def allocate(self, places: int) -> int:
        """Hand out pool places that :meth:`reserve` has seen to; any thread may ask."""
        with self._lock:
            first = int(self.used[0])
            self.used[0] += places
        return first

    def ragged(self, rows: npt.NDArray[np.integer] | None = None, map: Map = serial_map) -> dict[str, Ragged]:
        """The factors of each of ``rows`` end to end, without gaps: ``perf``, ``force``, ``inverse_width``."""
        at = np.arange(len(self.start)) if rows is None else np.asarray(rows, dtype=np.int64)
        offsets = Ragged.from_lengths(self.length[at], np.empty(0)).offsets
        values = np.empty((len(self.parts), offsets[-1]))
        map(lambda start, stop: _gather(start, stop, at, *self.arrays, offsets, values), len(at))
        return {name: Ragged(offsets, part) for name, part in zip(self.parts, values, strict=True)}

    def put(self, rows: npt.NDArray[np.integer], columns: dict[str, Ragged]) -> None:
        """The inverse of :meth:`ragged`; a history that has outgrown its stretch moves to a new one."""
        offsets, lengths = columns[self.parts[0]].offsets, columns[self.parts[0]].lengths
        at = np.asarray(rows, dtype=np.int64)
        moves = np.flatnonzero(lengths > self.capacity[at])
        room = np.maximum(-(-lengths[moves] // LANES) * LANES, 2 * self.capacity[at[moves]])
        places = len(self.parts) * np.cumsum(room, dtype=np.int64)
        if len(moves):
            self.reserve(int(places[-1]))
            self.start[at[moves]] = self.allocate(int(places[-1])) + places - len(self.parts) * room
            self.capacity[at[moves]] = room
        self.length[at] = lengths
        _scatter(at, *self.arrays, offsets, np.stack([columns[name].values for name in self.parts]))

    def fill(self, columns: dict[str, Ragged]) -> None:
        """The inverse of :meth:`ragged` for the first players; factors keep their bits."""
        offsets = columns[self.parts[0]].offsets
        n = len(offsets) - 1
        self.length[:], self.capacity[:], self.start[:] = 0, 0, 0
        self.length[:n] = columns[self.parts[0]].lengths
        self.capacity[:n] = -(-self.length[:n] // LANES) * LANES
        ends = len(self.parts) * np.cumsum(self.capacity, dtype=np.int64)
        self.start[1:] = ends[:-1]
        self.pool, self.used[0] = np.zeros(ends[-1] if len(ends) else 0), ends[-1] if len(ends) else 0
        _scatter(np.arange(n), *self.arrays, offsets, np.stack([columns[name].values for name in self.parts]))


def _records(n: int, dtype: np.dtype[Any]) -> Column:
    """Zeroed records that begin on a cache line."""
    raw = np.zeros(n * dtype.itemsize + _LINE, dtype=np.uint8)
    skip = -raw.ctypes.data % _LINE
    return raw[skip : skip + n * dtype.itemsize].view(dtype)


@exact
def places_needed(begin, end, rows, length, capacity, parts):
    """Pool places that ``rows[begin:end]`` claim for one more factor each: a full stretch moves to a longer one."""
    places = 0
    for i in range(begin, end):
        room = capacity[rows[i]]
        places += parts * max(2 * room, LANES) if length[rows[i]] == room else 0
    return places


@inner_exact
def grow(row, new, start, capacity, pool, parts):
    """Move a full row to the stretch twice as long that begins at ``new``; returns where the next may begin."""
    old, old_capacity = start[row], capacity[row]
    new_capacity = max(2 * old_capacity, LANES)
    for part in range(parts):
        for k in range(old_capacity):
            pool[new + part * new_capacity + k] = pool[old + part * old_capacity + k]
        for k in range(old_capacity, new_capacity):
            pool[new + part * new_capacity + k] = 0.0
    start[row] = new
    capacity[row] = new_capacity
    return new + parts * new_capacity


@exact
def _gather(begin, end, rows, start, length, capacity, pool, offsets, values):
    for i in range(begin, end):
        row = rows[i]
        if i + _AHEAD < end:
            ahead = rows[i + _AHEAD]
            for part in range(len(values)):
                prefetch(pool, start[ahead] + part * capacity[ahead])
        for part in range(len(values)):
            for k in range(length[row]):
                values[part, offsets[i] + k] = pool[start[row] + part * capacity[row] + k]


@exact
def _scatter(rows, start, length, capacity, pool, offsets, values):
    for i in range(len(rows)):
        row = rows[i]
        for part in range(len(values)):
            first = start[row] + part * capacity[row]
            for k in range(length[row]):
                pool[first + k] = values[part, offsets[i] + k]
            for k in range(length[row], capacity[row]):
                pool[first + k] = 0.0
