"""Stored standings of a data set, as its source gave them: read in rated order, whatever files the contests are in."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...lake import layout
from ...lake.access.lake import Lake, digest_of
from ...lake.remedies import damaged, with_remedies
from ...lake.schemas import COVARIATE
from .games import GAMES_KIND, Games, rows_of_games
from .points import Points, join_points, points_of
from .teams import Teams

Longs = npt.NDArray[np.int64]

# A corrected contest has a file of its own, and its neighbours share an older file. This many shared files are cached.
_CACHED_FILES = 4
_NUMBERS = ("player", "lo", "hi")
_GAME = ("player", "opponent", "score")
_COLUMNS = {
    "standings": (*_NUMBERS, "team", "share", "rated", "points"),
    GAMES_KIND: (
        *_GAME,
        "time_seconds",
        "weight",
        "advantage",
        "points",
        "opponent_points",
        "precision",
        "kept",
        COVARIATE + "*",
    ),
}  # by kind of file


@dataclass(frozen=True, slots=True, eq=False)
class StandingsPart:
    """Standings of consecutive contests, best first within each.

    Attributes
    ----------
    first_contest : int
        Place of the first contest in rated order.
    offsets : int64[k + 1]
        Contest ``first_contest + i`` has the rows from ``offsets[i]`` to ``offsets[i + 1]``.
    player, lo, hi : int32[n]
        Dense index of the player; first and last place of the tie group, zero-based, inclusive. Read-only.
    teams : Teams or None
        The team of each row; None without teams. Places then count teams.
    rated : bool[n] or None
        Whether the rating of the participant may change; None: all are rated.
    games : Games or None
        Facts of the games of periods, of which each has two adjacent rows; None: each contest is one result.
    points : Points
        Points of each row; of games those of ``games``.
    """

    first_contest: int
    offsets: npt.NDArray[np.int64]
    player: npt.NDArray[np.int32]
    lo: npt.NDArray[np.int32]
    hi: npt.NDArray[np.int32]
    teams: Teams | None = None
    rated: npt.NDArray[np.bool_] | None = None
    games: Games | None = None
    points: Points = None

    @classmethod
    def concat(cls, parts: Sequence[StandingsPart]) -> StandingsPart:
        """Consecutive parts as one; several of them must be plain."""
        if len(parts) == 1:
            return parts[0]
        sizes = np.concatenate([np.diff(part.offsets) for part in parts])
        player, lo, hi = (np.concatenate([getattr(part, name) for part in parts]) for name in _NUMBERS)
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        points = join_points([part.points for part in parts], [len(part.player) for part in parts])
        return cls(parts[0].first_contest, offsets, player, lo, hi, points=points)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def is_plain(self) -> bool:
        """Whether it has no teams, no unrated participants and no games."""
        return self.teams is None and self.rated is None and self.games is None

    def contest(self, place: int) -> StandingsPart:
        """The one contest at a place in rated order; a view."""
        return self.contests(place, place + 1)

    def contests(self, start: int, stop: int) -> StandingsPart:
        """The contests at the places ``start`` to ``stop - 1`` in rated order; a view."""
        offsets = self.offsets[start - self.first_contest : stop - self.first_contest + 1]
        a, b = int(offsets[0]), int(offsets[-1])
        teams = None if self.teams is None else self.teams.part(a, b)
        rated = None if self.rated is None else self.rated[a:b]
        games = None if self.games is None else self.games.part(a, b)
        rows = self.player[a:b], self.lo[a:b], self.hi[a:b]
        points = None if self.points is None else self.points[a:b]
        return StandingsPart(start, offsets - a, *rows, teams, rated, games, points)

    def keep_games(self, games: npt.NDArray[np.bool_]) -> StandingsPart:
        """The same periods with the games of a mask (bool[m]) alone."""
        assert self.games is not None, "a data set of games"
        keep = np.repeat(games, 2)
        offsets = np.concatenate([[0], np.cumsum(keep)])[self.offsets]
        points = None if self.points is None else self.points[keep]
        rows = self.player[keep], self.lo[keep], self.hi[keep]
        return StandingsPart(self.first_contest, offsets, *rows, games=self.games.keep(games), points=points)

    def contests_of(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Place in rated order of the contest of each of ``rows``."""
        return np.searchsorted(self.offsets, rows, side="right") - 1 + self.first_contest


def part_of(kind: str, begin: int, offsets: Longs, rows: pa.Table) -> StandingsPart:
    """Rows of a file of standings or of games; ``offsets`` are those of the contests among its rows."""
    if kind == GAMES_KIND:
        player, opponent, score = (rows.column(name).to_numpy() for name in _GAME)
        games = Games.of(rows).winner_first(score)
        places = rows_of_games(player, opponent, score)
        return StandingsPart(begin, 2 * offsets, *places, games=games, points=games.points)
    player, lo, hi = (rows.column(name).to_numpy() for name in _NUMBERS)
    column = rows.column("rated")
    rated = None if column.null_count == len(column) else column.fill_null(True).to_numpy()
    rated = None if rated is None or rated.all() else rated
    return StandingsPart(begin, offsets, player, lo, hi, Teams.of(rows), rated, points=points_of(rows.column("points")))


def standings_name(data: pa.Buffer, epoch: int = 0) -> str:
    """File name of standings: it contains a digest of the bytes, so no writer replaces them by others.

    ``epoch`` is that of the data set, see ``ranklake.storage.leases.roots``.
    """
    return f"{digest_of(data)}{layout.epoch_suffix(epoch)}.parquet"


def concatenate_ranges(starts: Longs, sizes: Longs) -> Longs:
    """Row numbers of the ranges that begin at ``starts`` and have these sizes, one range after the other."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - ends + sizes, sizes) + np.arange(total)


class StoredStandings:
    """The files of standings or of games behind a table of contests.

    ``contests``: in rated order; see ``schemas.CONTESTS``.
    ``kind``: the kind of the data set.
    """

    def __init__(self, lake: Lake, dataset: str, contests: pa.Table, kind: str = "") -> None:
        self._lake, self._dataset, self._contests, self._kind = lake, dataset, contests, kind or "standings"
        files = contests.column("file").combine_chunks().dictionary_encode()
        self._names: list[str] = files.dictionary.to_pylist()
        self._file: npt.NDArray[np.int32] = files.indices.to_numpy()
        self._first_row: npt.NDArray[np.int64] = contests.column("row_start").to_numpy()
        self._n_rows: npt.NDArray[np.int64] = contests.column("n_rows").to_numpy().astype(np.int64)
        wanted = np.bincount(self._file, weights=self._n_rows, minlength=len(self._names))
        self._rows_wanted: list[int] = wanted.astype(np.int64).tolist()
        self._end = np.zeros(len(self._names), np.int64)  # of the last contest in each file
        np.maximum.at(self._end, self._file, self._first_row + self._n_rows)
        self._cached: OrderedDict[int, pa.Table] = OrderedDict()

    def parts(self, start: int = 0, stop: int | None = None) -> Iterator[StandingsPart]:
        """Standings of the contests from ``start`` to ``stop``, in rated order, many contests at a time.

        Raises MissingError, DamagedError: a standings file is missing, or does not hold its contests.
        """
        start, stop, _ = slice(start, stop).indices(len(self._file))
        if start >= stop:
            return
        file, first_row = self._file[start:stop], self._first_row[start:stop]
        n_rows = self._n_rows[start:stop]
        adjacent = (file[1:] == file[:-1]) & (first_row[1:] == first_row[:-1] + n_rows[:-1])
        cuts = np.concatenate([[0], np.flatnonzero(~adjacent) + 1])  # where ranges begin
        rows = np.add.reduceat(n_rows, cuts)
        long = rows >= self._lake.limits.view_rows
        gathered = np.cumsum(np.where(long, 0, rows)) // self._lake.limits.gathered_rows
        begins = np.flatnonzero(long[1:] | long[:-1] | (gathered[1:] != gathered[:-1])) + 1
        bounds = [0, *begins.tolist(), len(cuts)]
        ends = [*(cuts + start).tolist(), stop]
        for a, b in pairwise(bounds):
            yield self._view(ends[a], ends[b]) if b - a == 1 else self._gathered(ends[a], ends[b])

    def _view(self, begin: int, end: int) -> StandingsPart:
        """Contests that follow each other in one file: a view of it."""
        offsets = self._offsets(begin, end)
        table = self._table(int(self._file[begin]), int(offsets[-1]))
        return part_of(self._kind, begin, offsets, table.slice(int(self._first_row[begin]), int(offsets[-1])))

    def _gathered(self, begin: int, end: int) -> StandingsPart:
        """Contests from several ranges or files, copied together."""
        file = self._file[begin:end]
        numbers = np.unique(file)
        tables = [self._table(number) for number in numbers.tolist()]
        base = np.zeros(len(self._names), np.int64)
        base[numbers] = np.cumsum([0, *(table.num_rows for table in tables[:-1])])
        rows = concatenate_ranges(base[file] + self._first_row[begin:end], self._n_rows[begin:end])
        columns = pa.concat_tables(tables).combine_chunks()
        return part_of(self._kind, begin, self._offsets(begin, end), columns.take(pa.array(rows)))

    def _offsets(self, begin: int, end: int) -> npt.NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self._n_rows[begin:end])])

    def _table(self, number: int, rows: int = 0) -> pa.Table:
        """A file's columns; the table is cached if more than these ``rows`` of it may be needed."""
        table = self._cached.get(number)
        if table is None:
            table = self._read(self._names[number], self._rows_wanted[number], int(self._end[number]))
            if rows < table.num_rows:
                self._cached[number] = table
                if len(self._cached) > _CACHED_FILES:
                    self._cached.popitem(last=False)
        return table

    def _read(self, file: str, rows_wanted: int, end: int) -> pa.Table:
        path = layout.dataset_file(self._dataset, "standings", file)
        table = self._lake.read_table(path, self._kind, list(_COLUMNS[self._kind]))
        # More rows are right only if some of its contests have since been corrected or removed.
        is_whole = table.num_rows == rows_wanted >= end
        if not is_whole and not self._holds_its_contests(path, file):
            need = f"have {rows_wanted} players" if table.num_rows != rows_wanted else f"end at row {end}"
            with with_remedies(self._lake):
                raise damaged(path, f"has {table.num_rows} rows, its contests {need}")
        return table

    def _holds_its_contests(self, path: str, file: str) -> bool:
        ids = self._lake.read_table(path, self._kind, ["contest_id"]).column("contest_id")
        members = np.flatnonzero(self._file == self._names.index(file))
        first_row, n_rows = self._first_row[members], self._n_rows[members]
        if np.any(first_row + n_rows > len(ids)):
            return False
        wanted = self._contests.column("contest_id").take(pa.array(members))
        rows = concatenate_ranges(first_row, n_rows)
        expected = wanted.take(pa.array(np.repeat(np.arange(len(members)), n_rows)))
        n_present: int = pc.sum(pc.is_in(ids, value_set=wanted.combine_chunks())).as_py() or 0
        return n_present == len(rows) and bool(pc.all(pc.equal(ids.take(pa.array(rows)), expected)).as_py())
