"""A data set as it was last committed: its contests in rated order, their standings, its players."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from storage import layout
from storage.errors import DamagedError, MissingError
from storage.ingest import Ingest
from storage.lake import Lake
from storage.parquet import metadata_of
from storage.players import read_handles

__all__ = ["Dataset", "StandingsPart"]

# A corrected contest lies in a file of its own amid those of an older file: this many shared files stay at hand.
_FILES_AT_HAND = 4


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
    """

    first_contest: int
    offsets: npt.NDArray[np.int64]
    player: npt.NDArray[np.int32]
    lo: npt.NDArray[np.int32]
    hi: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.offsets) - 1


class Dataset:
    """What a data set held when it was opened. Made by ``Dataset.open``; grows by ``Dataset.ingest``.

    Standings files that the next ingest replaces stay until the one after it, so an open data set survives one commit.

    Attributes
    ----------
    contests : pa.Table
        One row a contest, in rated order; see ``schemas.CONTESTS``.
    n_players : int
        Players have the indices from 0 to ``n_players - 1``.
    """

    def __init__(self, lake: Lake, name: str, contests: pa.Table) -> None:
        facts = metadata_of(contests.schema)
        self.lake = lake
        self.name = name
        self.contests = contests
        self.n_players = int(facts["n_players"])
        self.n_player_parts = int(facts["player_parts"])
        self._handles: pa.StringArray | None = None

    @classmethod
    def open(cls, lake: Lake, name: str) -> Dataset:
        """The data set ``name`` as last committed.

        Raises
        ------
        MissingError
            There is none; names those that exist.
        """
        path = layout.contests_file(name)
        try:
            contests = lake.read_table(path, "contests")
        except MissingError:
            names = cls.names(lake)
            there_are = f"there are: {', '.join(names)}" if names else "it holds none yet; `ranklake ingest` makes one"
            raise MissingError(f"no data set {name!r} in {lake.url}; {there_are}", path=path) from None
        return cls(lake, name, contests)

    @staticmethod
    def names(lake: Lake) -> list[str]:
        """Names of the data sets of a lake, sorted."""
        found = []
        for name in lake.list(""):
            try:
                path = layout.contests_file(name)
            except ValueError:
                continue
            if lake.exists(path):
                found.append(name)
        return found

    @classmethod
    def ingest(cls, lake: Lake, name: str) -> Ingest:
        """A ``with`` block that adds contests to ``name``, made if need be; all of them or, if it raises, none."""
        try:
            current = cls.open(lake, name)
        except MissingError:
            return Ingest(lake, name)
        return Ingest(lake, name, current.contests, current.handles())

    def handles(self) -> pa.StringArray:
        """Handle of each player, by index."""
        if self._handles is None:
            self._handles = read_handles(self.lake, self.name, self.n_player_parts, self.n_players)
        return self._handles

    def find(self, handle: str) -> int | None:
        """Index of the player called exactly ``handle``; None if there is none."""
        index: int = pc.index(self.handles(), pa.scalar(handle, pa.string())).as_py()
        return index if index >= 0 else None

    def standings(self, start: int = 0, stop: int | None = None) -> Iterator[StandingsPart]:
        """Standings of the contests from ``start`` to ``stop``, in rated order, a part at a time.

        A part is as many contests as lie one after the other in one file.

        Raises
        ------
        MissingError, DamagedError
            A standings file is gone, or does not hold its contests.
        """
        start, stop, _ = slice(start, stop).indices(self.contests.num_rows)
        files = self.contests.column("file").combine_chunks().dictionary_encode()
        names = files.dictionary.to_pylist()
        file = files.indices.to_numpy()
        first_row = self.contests.column("row_start").to_numpy()
        n_rows = self.contests.column("n_players").to_numpy().astype(np.int64)
        rows_wanted = np.bincount(file, weights=n_rows, minlength=len(names)).astype(np.int64)

        goes_on = (file[1:] == file[:-1]) & (first_row[1:] == first_row[:-1] + n_rows[:-1])
        cuts = np.flatnonzero(~goes_on[start : max(stop - 1, start)]) + start + 1
        at_hand: dict[int, pa.Table] = {}
        for begin, end in zip([start, *cuts.tolist()], [*cuts.tolist(), stop], strict=True):
            if begin >= end:
                return
            number = int(file[begin])
            table = at_hand.get(number)
            if table is None:
                table = self._read_standings(names[number], int(rows_wanted[number]))
            offsets = np.concatenate([[0], np.cumsum(n_rows[begin:end])])
            if offsets[-1] < table.num_rows:
                at_hand[number] = table
                if len(at_hand) > _FILES_AT_HAND:
                    del at_hand[next(iter(at_hand))]
            rows = table.slice(int(first_row[begin]), int(offsets[-1]))
            player, lo, hi = (rows.column(name).to_numpy() for name in ("player", "lo", "hi"))
            yield StandingsPart(begin, offsets, player, lo, hi)

    def _read_standings(self, file: str, rows_wanted: int) -> pa.Table:
        path = layout.standings_file(self.name, file)
        table = self.lake.read_table(path, "standings", ["player", "lo", "hi"])
        # More rows are right only if some of its contests have since been corrected and lie elsewhere.
        if table.num_rows != rows_wanted and not self._holds_its_contests(path, file):
            raise DamagedError(
                f"{path}: has {table.num_rows} rows, its contests have {rows_wanted} players; "
                "restore it or ingest into a new data set",
                path=path,
            )
        return table

    def _holds_its_contests(self, path: str, file: str) -> bool:
        ids = self.lake.read_table(path, "standings", ["contest_id"]).column("contest_id")
        mine = self.contests.filter(pc.equal(self.contests.column("file"), file))
        columns = (mine.column(name).to_pylist() for name in ("contest_id", "row_start", "n_players"))
        for contest_id, row_start, n_players in zip(*columns, strict=True):
            rows = ids.slice(row_start, n_players)
            if len(rows) != n_players or pc.any(pc.not_equal(rows, contest_id)).as_py():
                return False
            if pc.sum(pc.equal(ids, contest_id)).as_py() != n_players:
                return False
        return True
