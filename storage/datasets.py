"""A data set as it was last committed: its contests in rated order, their standings, its players."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from storage import layout
from storage.effective import Corrections, took_part
from storage.errors import MissingError
from storage.ingest import Ingest, IngestOrder
from storage.lake import Lake
from storage.log import Log
from storage.parquet import metadata_of
from storage.players import read_handles
from storage.standings import StandingsPart, StoredStandings

__all__ = ["Dataset"]


class Dataset:
    """What a data set held when it was opened. Made by ``Dataset.open``; changed by ``Dataset.ingest``.

    Files that the next ingest replaces stay until the one after it, so an open data set survives one commit.

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
        self._log_file = facts.get("log", "")
        self._log: Log | None = None
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
    def ingest(cls, lake: Lake, name: str, *, order: IngestOrder = "source", mirror: bool = False) -> Ingest:
        """A ``with`` block that changes ``name``, made if need be; in full or, if it raises, not at all.

        Parameters
        ----------
        order
            ``source``: contests of this ingest come to stand in the order in which they are added, others keep their
            places. ``time``: then the whole data set is sorted by time; of one time they stay as they are.
        mirror
            Contests that are not added are taken out.
        """
        try:
            current = cls.open(lake, name)
        except MissingError:
            return Ingest(lake, name, order=order, mirror=mirror)
        return Ingest(lake, name, current.contests, current.handles(), current.log(), order=order, mirror=mirror)

    def handles(self) -> pa.StringArray:
        """Handle of each player, by index."""
        if self._handles is None:
            self._handles = read_handles(self.lake, self.name, self.n_player_parts, self.n_players)
        return self._handles

    def find(self, handle: str) -> int | None:
        """Index of the player called exactly ``handle``; None if there is none."""
        index: int = pc.index(self.handles(), pa.scalar(handle, pa.string())).as_py()
        return index if index >= 0 else None

    def log(self) -> Log:
        """What was corrected by hand."""
        if self._log is None:
            self._log = Log.read(self.lake, self.name, self._log_file) if self._log_file else Log()
        return self._log

    def standings(self, start: int = 0, stop: int | None = None) -> Iterator[StandingsPart]:
        """Standings that count of the contests from ``start`` to ``stop``, in rated order, many contests at a time.

        The disqualified are left out, and players have the index of the name that counts.

        Raises
        ------
        MissingError, DamagedError
            A standings file is gone, or does not hold its contests.
        """
        parts = self._stored.parts(start, stop)
        return parts if self._corrections is None else map(self._corrections.apply, parts)

    def took_part(self, contest: int, handle: str) -> bool:
        """Whether who is called ``handle`` took part in the contest at a place in order, disqualified or not."""
        time_seconds = self.contests.column("time_seconds")[contest].as_py()
        names = (self.handles().take(pa.array(part.player)) for part in self._stored.parts(contest, contest + 1))
        return any(took_part(handle, some.to_pylist(), self.log().aliases, time_seconds) for some in names)

    @cached_property
    def _stored(self) -> StoredStandings:
        return StoredStandings(self.lake, self.name, self.contests)

    @cached_property
    def _corrections(self) -> Corrections | None:
        return Corrections.of(self.log(), self.handles, self.contests)
