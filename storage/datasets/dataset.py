"""A data set as it was last committed: its contests in rated order, their standings, its players."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..lake import layout, parquet
from ..lake.access.lake import Lake
from ..lake.errors import LakeError, MissingError
from ..lake.parquet import EVENTS, metadata_of
from ..lake.remedies import damaged, with_remedies
from ..lake.schemas import ATTRIBUTES
from ..leases.acquire import WAIT_SECONDS, hold_lease
from ..leases.holder import LeaseHolder
from ..leases.lease import Lease
from ..leases.roots import delete_root, names_with_root, read_root
from ..runs.run import Run
from .corrections import Corrections, participated
from .games_ingest import GamesIngest
from .garbage import n_replaced, referenced, unreferenced
from .ingest import Ingest, IngestOrder
from .tables.events import Events
from .tables.games import GAMES_KIND
from .tables.log import Log
from .tables.players import one_handle, read_handles
from .tables.shards import read_contests
from .tables.standings import StandingsPart, StoredStandings


class Dataset:
    """A data set at the time it was opened. Made by ``Dataset.open``; changed by ``Dataset.ingest``.

    Files that the next ingest replaces stay until the one after it, so an open data set survives one commit.

    Attributes
    ----------
    contests : pa.Table
        One row a contest, in rated order; see ``schemas.CONTESTS``.
    n_players : int
        Players have the indices from 0 to ``n_players - 1``.
    version : str
        Version of the table of contests, for the commit that replaces it.
    kind : str
        Empty if each contest is one result; ``games`` if each is a period of one-to-one games.
    """

    def __init__(self, lake: Lake, name: str, contests: pa.Table, version: str = "") -> None:
        metadata = metadata_of(contests.schema)
        self.lake = lake
        self.name = name
        self.contests = contests
        self.version = version
        self.n_players = int(metadata["n_players"])
        self.kind = metadata.get("kind", "")
        self._player_parts = metadata["player_parts"].split()
        self._log_file = metadata.get("log", "")
        self._events_file = metadata.get(EVENTS, "")
        self._log: Log | None = None
        self._handles: pa.StringArray | None = None

    @classmethod
    def open(cls, lake: Lake, name: str) -> Dataset:
        """The data set ``name`` as last committed.

        Raises
        ------
        MissingError
            The data set does not exist; names the existing ones.
        DamagedError
            The table of contests, or a shard of it, cannot be read.
        """
        path = layout.contests_file(name)
        contests, version = read_contests(lake, name)
        if contests is None:
            names = cls.names(lake)
            existing = f"there are: {', '.join(names)}" if names else "it has none yet; `ranklake ingest` makes one"
            raise MissingError(f"no data set {name!r} in {lake.url}; {existing}", path=path)
        return cls(lake, name, contests, version)

    @staticmethod
    def names(lake: Lake) -> list[str]:
        """Names of the data sets of a lake, sorted."""
        return names_with_root(lake, "", layout.contests_file)

    @classmethod
    @contextmanager
    def ingest(
        cls,
        lake: Lake,
        name: str,
        *,
        order: IngestOrder = "source",
        mirror: bool = False,
        rewrite: bool = False,
        steal: bool = False,
        games: bool = False,
        on_wait: Callable[[LeaseHolder], None] = lambda _: None,
    ) -> Iterator[Ingest]:
        """A ``with`` block that changes or creates the data set ``name``: in full or, if it raises, not at all.

        Concurrent writers wait for each other.

        Parameters
        ----------
        order
            ``source``: contests of this ingest are put in the order in which they are added; the others keep their
            places. ``time``: the whole data set is then sorted by time; contests of one time keep their order.
        mirror
            Remove contests that are not added.
        rewrite
            Write added contests again even if they have not changed: this repairs damaged files.
        steal
            Take over the lease of a process that has certainly ended.
        games
            A new data set has periods of games (kind ``games``). An existing one keeps its kind.
        on_wait
            Called once with the lease holder, if another process holds the lease.

        Raises
        ------
        LeaseHeldError
            Another process held the lease for longer than ten minutes.
        LakeError
            The table of contests is missing, but runs over the data set exist; or ``games`` is true, and the data set
            has contests.
        """
        purpose, folder = f"ingest into {name}", layout.dataset_folder(name)
        with hold_lease(lake, folder, purpose, steal=steal, wait_seconds=WAIT_SECONDS, on_wait=on_wait) as lease:
            options: dict[str, Any] = {"order": order, "mirror": mirror, "rewrite": rewrite}
            with cls.ingest_under(lake, name, lease, games, **options) as ingest:
                yield ingest

    @classmethod
    @contextmanager
    def ingest_under(cls, lake: Lake, name: str, lease: Lease, games: bool = False, **options: Any) -> Iterator[Ingest]:
        """As :meth:`ingest`, under a lease of the data set that the caller holds.

        ``options``: ``order``, ``mirror``, ``rewrite``, and ``create``: make a new data set even without a contest.
        """
        before = cls._before(lake, name)
        if before is not None and games and before.kind != GAMES_KIND:
            raise LakeError(f"data set {name} has contests; ingest games into another data set")
        games = games if before is None else before.kind == GAMES_KIND
        state = () if before is None else (before.contests, before.handles(), before.log(), before.events())
        version = read_root(lake, layout.contests_file(name))[1] if before is None else before.version
        with (GamesIngest if games else Ingest)(lake, name, *state, lease=lease, version=version, **options) as ingest:
            yield ingest

    @classmethod
    def _before(cls, lake: Lake, name: str) -> Dataset | None:
        try:
            return cls.open(lake, name)
        except MissingError as error:
            if orphans := Run.names_over_dataset(lake, name):
                # A new data set could number its players differently.
                problem = f"there is no such file, but there are runs over the data set: {', '.join(orphans)}"
                with with_remedies(lake):
                    raise damaged(error.path, problem) from error
            return None

    @staticmethod
    def delete(lake: Lake, name: str, lease: Lease) -> None:
        """Delete a data set, or the rest of one whose deletion was interrupted. The caller deletes its runs before.

        The first step deletes the table of contests: the data set no longer exists. Files left by a crash are deleted
        by the next deletion or ingest. The lease stays.
        """
        root = layout.contests_file(name)
        delete_root(lake, root, lease)
        if lease.predecessor >= 0:  # the tombstone stays
            for file in lake.list(layout.dataset_folder(name, "contests")):
                if (path := layout.dataset_file(name, "contests", file)) != root:
                    lease.lake.delete(path)
        else:
            lease.lake.delete_folder(layout.dataset_folder(name, "contests"))
        for part in ("standings", "players", "log", "events", "sources", "attributes", "results"):
            lease.lake.delete_folder(layout.dataset_folder(name, part))

    @property
    def log_path(self) -> str:
        """Path of the log of corrections, inside the lake; empty if there is none."""
        return layout.dataset_file(self.name, "log", self._log_file) if self._log_file else ""

    @property
    def events_path(self) -> str:
        """Path of the table of events, inside the lake; empty if there is none."""
        return layout.dataset_file(self.name, "events", self._events_file) if self._events_file else ""

    @property
    def covariates(self) -> tuple[str, ...]:
        """Names of the covariates that its games have, sorted; see :mod:`.tables.covariates`."""
        names = self.contests.column("covariates")
        return tuple((names[0].as_py() or "").split()) if len(names) else ()

    @property
    def corrected(self) -> bool:
        """Whether corrections are in force."""
        return self._corrections is not None

    def handles(self) -> pa.StringArray:
        """Handle of each player, by index."""
        if self._handles is None:
            with with_remedies(self.lake):
                self._handles = read_handles(self.lake, self.name, self._player_parts, self.n_players)
        return self._handles

    def find(self, handle: str) -> int | None:
        """Index of the player called exactly ``handle``; None if there is none."""
        index: int = pc.index(self.handles(), one_handle(handle)[0]).as_py()
        return index if index >= 0 else None

    def log(self) -> Log:
        """The log of manual corrections."""
        if self._log is None:
            self._log = Log.read(self.lake, self.name, self._log_file) if self._log_file else Log()
        return self._log

    def events(self) -> Events:
        """Its dated events: seasons, and resets of beliefs."""
        return self._events

    def attributes(self) -> pa.Table:
        """The attributes of players, such as a country; see ``schemas.ATTRIBUTES``. Empty if there are none.

        Most systems do not depend on them (``System.attributes``).
        """
        try:
            return self.lake.read_table(layout.attributes_file(self.name), "attributes")
        except MissingError:
            return ATTRIBUTES.empty_table()

    def write_attributes(self, table: pa.Table, lease: Lease) -> None:
        """Replace all attributes of players, under the lease of the data set."""
        path = layout.attributes_file(self.name)
        _, version = read_root(self.lake, path)
        lease.check()
        lease.lake.replace_bytes(path, parquet.encode(table, "attributes"), version)

    def participants(self) -> Iterator[StandingsPart]:
        """All standings under the current names of the players, disqualified ones included."""
        parts = self._stored.parts()
        if self._corrections is None:
            return parts
        named = self._corrections.named
        return (replace(part, player=named(part)) for part in parts)

    def named(self, place: npt.NDArray[np.intp], player: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """The current index of the player of each of some rows, given the place of its contest, ascending."""
        if self._corrections is None:
            return player
        offsets = np.searchsorted(place, np.arange(self.contests.num_rows + 1))
        return self._corrections.named(StandingsPart(0, offsets, player, player, player))

    def standings(self, start: int = 0, stop: int | None = None) -> Iterator[StandingsPart]:
        """Corrected standings of the contests from ``start`` to ``stop``, in rated order, many contests at a time.

        Disqualified players are left out, and aliases are replaced by the index of the current name.

        Raises
        ------
        MissingError, DamagedError
            A standings file is missing, or does not hold its contests.
        """
        parts = self._stored.parts(start, stop)
        return parts if self._corrections is None else map(self._corrections.apply, parts)

    def participated(self, contest: int, handle: str) -> bool:
        """Whether the player ``handle`` took part in the contest at that place in order, disqualified or not."""
        time_seconds = self.contests.column("time_seconds")[contest].as_py()
        names = (self.handles().take(pa.array(part.player)) for part in self._stored.parts(contest, contest + 1))
        return any(participated(handle, part.to_pylist(), self.log().aliases, time_seconds) for part in names)

    def unreferenced(self) -> list[str]:
        """Files without a reference: left by a crash, or kept for readers of the previous state."""
        return unreferenced(self.lake, self.name, self.files())

    def files(self) -> set[str]:
        """Paths of all files of the data set."""
        return referenced(self.name, self.contests.column("file").to_pylist(), metadata_of(self.contests.schema))

    def n_leftover(self) -> int:
        """Number of files left by an interrupted command: no commit refers to them, and no reader needs them."""
        return max(len(self.unreferenced()) - n_replaced(metadata_of(self.contests.schema)), 0)

    @cached_property
    def _stored(self) -> StoredStandings:
        return StoredStandings(self.lake, self.name, self.contests, self.kind)

    @cached_property
    def _events(self) -> Events:
        return Events.read(self.lake, self.name, self._events_file) if self._events_file else Events()

    @cached_property
    def _corrections(self) -> Corrections | None:
        return Corrections.of(self.log(), self.handles, self.contests)
