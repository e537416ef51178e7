"""Parts of the index: the rated rows of consecutive rounds, sorted by player, in one Arrow file.

A file has one batch without compression, so that a reader maps it into memory: the history of a player is one bisection
and one slice, and the rows of a round are one selection. The histories of a run are the concatenation of those in its
parts. A part has at most ``Limits.index_rows`` rows (or one round), which bounds the memory of a publish. A part of
rounds with teams also has the name of each row's team, and one of rounds with points the points.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.storage import Lake
from ranklake.storage.lake.remedies import damaged
from ranklake.storage.lake.schemas import ROUNDS

from .root import IndexFile

_GROWTH = 4  # a part is merged with later rounds as long as it is at most so many times as large
_COLUMNS = (*(name for name in ROUNDS.names if name != "contest_id"), "rating")
_SCHEMA = pa.schema([(name, ROUNDS.field(name).type) for name in _COLUMNS[:-1]] + [("rating", pa.float64())])
UNRATED = pa.schema(
    [
        *(ROUNDS.field(name) for name in ("round_index", "player", "lo", "perf", "mu", "sigma", "n_before")),
        pa.field("rating", pa.float64()),
        pa.field("handle", pa.string()),
    ]
)
"""Columns of the rows of unrated participants."""
SMOOTHED_ROWS = pa.schema(
    [
        ("player", pa.int32()), ("round_index", pa.int32()), ("time_seconds", pa.int64()),
        ("smooth_mu", pa.float64()), ("smooth_sigma", pa.float64()), ("log_gain", pa.float64()),
    ]
)  # fmt: skip
"""Columns of smoothed rows, sorted by player and round; times are 0 if unknown."""
_OPTIONAL = pa.schema([("team", pa.string()), ("points", pa.float64())])  # of parts whose rounds have some
_BY_ROUND = "by_round"  # rows of the file in order of rounds and standings


class IndexPart:
    """The rows of one part, mapped into memory.

    Rows have the columns ``_COLUMNS``, ``team``, which is null for individuals, and ``points``, null where unknown.
    """

    def __init__(self, batch: pa.RecordBatch) -> None:
        there = [name for name in _OPTIONAL.names if name in batch.schema.names]
        self._rows = pa.Table.from_batches([batch]).select([*_COLUMNS, *there])
        self._player, self._round, self._by_round = (
            integers(batch.column(name)) for name in ("player", "round_index", _BY_ROUND)
        )
        self._rating = np.frombuffer(batch.column("rating").buffers()[1] or b"", np.float64)

    def history(self, player: int) -> pa.Table:
        """The rows of a player, in order of rounds."""
        start, stop = self._bounds(player)
        return self._with_optional(self._rows.slice(start, stop - start))

    def rounds(self, player: int) -> npt.NDArray[np.int32]:
        """The indices of a player's rounds, ascending."""
        start, stop = self._bounds(player)
        return self._round[start:stop]

    def ratings(self, player: int) -> npt.NDArray[np.float64]:
        """The display rating of a player after each row, in order of rounds."""
        start, stop = self._bounds(player)
        return self._rating[start:stop]

    def opponents(self, player: int) -> npt.NDArray[np.int32]:
        """The opponent of each row of a player; the rounds are games of two, or periods of them."""
        opponents: npt.NDArray[np.int32] = self._player[self._beside(player)]
        return opponents

    def opponent_ratings(self, player: int) -> npt.NDArray[np.float64]:
        """The display rating of each opponent before the game; NaN if this part does not have it."""
        return self._before(self._beside(player))

    @property
    def has_pairs(self) -> bool:
        """Whether each round has two rows, of individuals."""
        rounds = self._round[self._by_round]
        one, other = rounds[::2], rounds[1::2]
        return "team" not in self._rows.column_names and np.array_equal(one, other) and bool((np.diff(one) > 0).all())

    def participations(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The round and the player of each row, in order of rounds and standings."""
        return self._round[self._by_round], self._player[self._by_round]

    def states_of_rows(self) -> dict[str, npt.NDArray[np.generic]]:
        """``player, round_index, rating, sigma, n_rounds`` of each row, in order of players and their rounds."""
        sigma, n_before = (self._rows.column(name).chunk(0).to_numpy() for name in ("sigma", "n_before"))
        return {
            "player": self._player, "round_index": self._round, "rating": self._rating, "sigma": sigma,
            "n_rounds": n_before + np.int32(1),
        }  # fmt: skip

    def rows_between(self, start: int, stop: int) -> dict[str, npt.NDArray[Any]]:
        """Columns of the rows of the rounds from ``start`` to ``stop``, in order of players and their rounds."""
        rows = np.flatnonzero((self._round >= start) & (self._round < stop))
        names = ("mu_prior", "sigma_prior", "mu", "sigma", "n_before")
        found = {name: self._rows.column(name).chunk(0).to_numpy()[rows] for name in names}
        player, index, rating = self._player[rows], self._round[rows], self._rating[rows]
        return found | {"player": player, "round_index": index, "rating": rating}

    def n_rows(self, round_index: int) -> int:
        """Number of rows of a round."""
        return len(self._positions(round_index))

    def round(self, round_index: int, rows: slice = slice(None)) -> pa.Table:
        """Some rows of a round, in the order of its standings."""
        return self._with_optional(self._rows.take(pa.array(self._positions(round_index)[rows])))

    def players(self, round_index: int) -> npt.NDArray[np.int32]:
        """The player of each row of a round, in the order of its standings."""
        found: npt.NDArray[np.int32] = self._player[self._positions(round_index)]
        return found

    def first(self, round_index: int, n: int) -> tuple[list[int], list[int], list[str | None], list[int]]:
        """``lo, hi, team, player`` of the first ``n`` rows of a round, without the other columns."""
        at = self._positions(round_index)[:n]
        lo, hi = (integers(self._rows.column(name))[at].tolist() for name in ("lo", "hi"))
        team: list[str | None] = [None] * len(at)
        player = self._player[at].tolist()
        if "team" in self._rows.column_names:
            team = self._rows.column("team").take(pa.array(at)).to_pylist()
        return lo, hi, team, player

    def ratings_before(self, round_index: int, rows: slice = slice(None)) -> npt.NDArray[np.float64]:
        """The display rating before some rows of a round, in order; NaN if this part does not have it."""
        return self._before(self._positions(round_index)[rows])

    def last_ratings(self, players: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        """The display rating of each player after the last round of this part; NaN if the part has no such player."""
        at = np.searchsorted(self._player, players, side="right") - 1
        last = np.maximum(at, 0)
        if not len(self._player):
            return np.full(len(players), np.nan)
        return np.where((at >= 0) & (self._player[last] == players), self._rating[last], np.nan)

    def recent(self, player: int, n: int, stop: int) -> npt.NDArray[np.float64]:
        """The display ratings of a player after the last ``n`` of the rounds before ``stop``, in order."""
        start, end = self._bounds(player)
        rounds = self._round[start : start + int(np.searchsorted(self._round[start:end], np.int32(stop)))]
        last = np.flatnonzero(np.diff(rounds, append=-1))[-n:]  # of the rows of each round: a period has several
        return self._rating[start + last]

    def last_two(
        self, stop: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.int32]]:
        """The players with rows before round ``stop``, ascending, and the display rating of each after the last of
        these rounds and after the round before it; NaN if the part has no other. Also both rounds (int32[2, n]); -1 if
        the part has no other.
        """
        rows = np.flatnonzero(self._round < stop)
        player, rounds = self._player[rows], self._round[rows]
        ends = np.flatnonzero((np.diff(player, append=-1) != 0) | (np.diff(rounds, append=-1) != 0))
        player, rating = player[ends], self._rating[rows[ends]]
        last = np.flatnonzero(np.diff(player, append=-1))
        before = np.maximum(last - 1, 0)
        others = (last > 0) & (player[before] == player[last])
        index = rounds[ends]
        both = np.stack([index[last], np.where(others, index[before], np.int32(-1))])
        return player[last], rating[last], np.where(others, rating[before], np.nan), both

    def states(
        self, stop: int, ends: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int32], dict[str, npt.NDArray[np.generic]]]:
        """The players with rows before round ``stop``, ascending, and the state of each after the last of these rows.

        The state has ``round_index, mu, sigma, rating``, ``n_rounds`` and, of all these rows, ``max_rating`` and the
        ``latest`` of the ``ends`` of rounds, UTC seconds.
        """
        rows = np.flatnonzero(self._round < stop)
        players = self._player[rows]
        first = np.flatnonzero(np.diff(players, prepend=-1))
        last = rows[np.append(first[1:], len(rows)) - 1] if len(rows) else rows
        columns, time = ("mu", "sigma", "n_before"), ends[self._round[rows]]
        mu, sigma, n_before = (self._rows.column(name).chunk(0).to_numpy()[last] for name in columns)
        return players[first], {
            "round_index": self._round[last], "mu": mu, "sigma": sigma, "n_rounds": n_before + np.int32(1),
            "rating": self._rating[last],
            "max_rating": np.maximum.reduceat(self._rating[rows], first) if len(rows) else self._rating[rows],
            "latest": np.maximum.reduceat(time, first) if len(rows) else time,
        }  # fmt: skip

    def _with_optional(self, rows: pa.Table) -> pa.Table:
        for field in _OPTIONAL:
            if field.name not in rows.column_names:
                rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
        return rows.select([*_COLUMNS, *_OPTIONAL.names])

    def _beside(self, player: int) -> npt.NDArray[np.int32]:
        """The positions of the rows beside those of a player, in order of rounds."""
        start, stop = self._bounds(player)
        at = np.flatnonzero((self._by_round >= start) & (self._by_round < stop))
        found: npt.NDArray[np.int32] = self._by_round[at ^ 1]
        return found

    def _before(self, at: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        """The display rating of the players of some rows before these; NaN without an earlier row."""
        before = np.maximum(at - 1, 0)  # sorted by player, then by round
        return np.where((at > 0) & (self._player[before] == self._player[at]), self._rating[before], np.nan)

    def _bounds(self, player: int) -> tuple[int, int]:
        wanted = np.int32(player)
        start, stop = np.searchsorted(self._player, wanted), np.searchsorted(self._player, wanted, side="right")
        return int(start), int(stop)

    def _positions(self, round_index: int) -> npt.NDArray[np.int32]:
        start = bisect_left(self._by_round, round_index, key=self._round.__getitem__)
        stop = bisect_right(self._by_round, round_index, lo=start, key=self._round.__getitem__)
        return self._by_round[start:stop]


def encode_rounds(batches: Iterable[pa.RecordBatch]) -> pa.Buffer:
    """The bytes of a part, given its rows in order of rounds and standings: ``_COLUMNS``, and perhaps ``team``
    and ``points``.
    """
    schema = pa.schema([*(ROUNDS.field(name) for name in _COLUMNS[:-1]), pa.field("rating", pa.float64())])
    given = [pa.table(batch) for batch in batches]
    if given:
        schema = pa.schema([*schema, *(field for field in _OPTIONAL if field.name in given[0].column_names)])
    rows = pa.concat_tables([schema.empty_table(), *(table.select(schema.names).cast(schema) for table in given)])
    order = np.argsort(rows.column("player").to_numpy(), kind="stable").astype(np.int32)
    position = np.empty_like(order)
    position[order] = np.arange(len(order), dtype=np.int32)
    columns = {}
    for name in schema.names:  # one column at a time bounds the memory
        columns[name] = rows.column(name).combine_chunks().take(pa.array(order))
        rows = rows.drop_columns([name])
    return encode_table(pa.table(columns | {_BY_ROUND: position}))


def encode_table(table: pa.Table) -> pa.Buffer:
    """The bytes of a table as an Arrow file of one batch."""
    sink, batches = pa.BufferOutputStream(), table.combine_chunks().to_batches()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_batch(batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema))
    return sink.getvalue()


def read_mapped(lake: Lake, path: str, file: IndexFile) -> pa.RecordBatch:
    """The batch of a file of the index; on a disk it is mapped into memory, elsewhere it is read as a whole.

    Raises MissingError, DamagedError: the file does not exist; it has another size, or cannot be read.
    """
    size = lake.size(path)
    try:
        if size is None or not lake.local:
            data = lake.read_bytes(path)
            size, source = len(data), pa.BufferReader(data)
        else:
            source = pa.memory_map(lake.uri(path))
        if size != file.size:
            raise damaged(path, f"has {size} bytes, not {file.size} as in its manifest")
        return pa.ipc.open_file(source).get_batch(0)
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, f"not a readable Arrow file ({str(error).partition(chr(10))[0]})") from error


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """The values of a column as one array, not copied if it has one chunk: ``combine_chunks`` copies that, too."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def integers(column: pa.Int32Array | pa.ChunkedArray) -> npt.NDArray[np.int32]:
    """The values of a column without nulls, not copied if it has one chunk. ``to_numpy`` would import pandas."""
    if isinstance(column, pa.ChunkedArray):
        column = one_chunk(column)
    values = np.frombuffer(column.buffers()[1] or b"", np.int32)
    return values[column.offset : column.offset + len(column)]


def cut(parts: Sequence[tuple[int, int, int]], rows: Sequence[int], most: int) -> tuple[int, list[tuple[int, int]]]:
    """The parts that stay, and the rounds of the new parts.

    ``parts``: start, stop and number of rows of each existing part whose rounds are unchanged.
    ``rows``: number of rows of each round.
    ``most``: number of rows of a part of several rounds.
    Returns int, list of tuple: number of the parts that stay; start and stop of each new part.

    A part is merged with the rows after it only if it is not much larger. So one more round rewrites few rows, and the
    number of small parts is logarithmic.
    """
    stay, start = len(parts), parts[-1][1] if parts else 0
    new = sum(rows[start:])
    while new and stay and parts[stay - 1][2] <= min(_GROWTH * new, most - new):
        stay -= 1
        start, new = parts[stay][0], new + parts[stay][2]
    cuts: list[tuple[int, int]] = []
    while start < len(rows):
        stop, size = start + 1, rows[start]
        while stop < len(rows) and size + rows[stop] <= most:
            size += rows[stop]
            stop += 1
        cuts.append((start, stop))
        start = stop
    return stay, cuts
