"""Publish a run as tables for consumers; the tables are derived and can be made again at any time.

Each table is a Delta Lake table with one commit per publish, and the versions of the last week stay readable. The
leaderboard is also one plain Parquet file. The root, ``index.json``, is replaced last and names the version of each
table and the files: readers that begin there see all tables of one publish. If the process is killed or loses power,
the root names the versions of before, which are complete, and the next publish continues.

Each commit of a table stores the state of the run, from which the next publish continues. The Delta library flushes
nothing: a power cut during a publish can damage versions of tables that no root names yet. The next publish removes
and makes them again.

Further tables exist from the first publish on that finds their rows in the data set: attributes of players and ratings
of groups, and the problems with their results.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ranklake.storage import DamagedError, Lake, Run
from ranklake.storage.lake import layout
from ranklake.storage.lake.errors import NoSpaceError
from ranklake.storage.lake.schemas import PUBLISHED
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.lease import Lease

from ..common.extras import need
from ..common.progress import ProgressCallback, not_shown
from ..common.text import count
from ..results.titles import TitlesChoice
from .delta_store import check_lake, roll_back
from .root import LATEST, delete_published, was_cut_off
from .root_writer import RootWriter
from .states import FURTHER, State, VersionedContent, update

if TYPE_CHECKING:
    from .delta_table import PublishedTable

log = logging.getLogger("ranklake.publish")


@dataclass(frozen=True, slots=True)
class PublishReport:
    """The report of a publish.

    ``rounds``: number of published rounds.
    ``kept``, ``added``: rounds whose ratings were already published; written rows of ratings.
    ``tables``: tables that have a new version.
    ``merged``, ``removed``: number of merged small files; number of removed unreferenced files.
    ``stale_smoothing``: why a smoothing was not published, and the remedy; empty if it was, or if there is none.
    ``fitted_now``: why draws and advantages were fitted for the publish; empty if the run has stored them.
    """

    rounds: int
    kept: int
    added: int
    tables: tuple[str, ...]
    seconds: float
    merged: int = 0
    removed: int = 0
    stale_smoothing: str = ""
    fitted_now: str = ""

    def line(self) -> str:
        """The report in one line."""
        text = f"published already: {count(self.rounds, 'round')}"
        if self.tables:
            text = f"published {count(self.rounds, 'round')}"
            text += f", {self.kept:,} of them published before and unchanged" if self.kept else ""
            text += f", {count(self.added, 'rating')} written in {self.seconds:.1f} s"
            text += f"; new versions of {', '.join(self.tables)}"
        text += f"; {count(self.merged, 'small file')} merged" if self.merged else ""
        text += f"; {count(self.removed, 'old file')} removed" if self.removed else ""
        return "; ".join(filter(None, (text, self.stale_smoothing, self.fitted_now)))


def publish(
    lake: Lake,
    run_name: str,
    deviations: float | None = None,
    maintain: bool = False,
    steal: bool = False,
    rebuild: bool = False,
    titles: TitlesChoice = None,
    index: bool = True,
    on_progress: ProgressCallback = not_shown,
    places: Mapping[str, Any] | None = None,
    brand: Mapping[str, Any] | None = None,
) -> PublishReport:
    """Publish the current state of a run.

    ``deviations``, ``titles``: see :class:`ranklake.flows.answers.rated_run.RatedRun`.
    ``maintain``: also merge small files, and remove files that no version of the last week refers to.
    ``steal``: take the lease over from a writer that is certainly dead.
    ``rebuild``: write all rows and files again, and repair what is damaged. Readers have the state of before until the
    root is replaced, and then a new version, also with the same rows.
    ``index``: also write the index for commands and the server; see ``ranklake.flows.publication.root``. False deletes
    an existing one.
    ``on_progress``, ``places``, ``brand``: as for :class:`ranklake.flows.publication.content.Content`.
    Raises LakeError: the run does not exist or has no ratings, another writer holds its lease, or a published table is
    damaged.
    Raises MissingExtraError: the package deltalake is not installed.
    """
    need("deltalake", "publish", "publishing")
    check_lake(lake)
    Run.open(lake, run_name)
    with hold_lease(
        lake, layout.run_folder(run_name), f"publish {run_name}", steal=steal, frees_space=maintain
    ) as lease:
        content = VersionedContent(lake, run_name, deviations, titles, on_progress, places=places, brand=brand)
        return _publish(content, _Target(lake, run_name, lease, rebuild), lease, maintain, index)


def _publish(content: VersionedContent, target: _Target, lease: Lease, maintain: bool, index: bool) -> PublishReport:
    """Publish all tables and then their root. Old files are removed first, which frees space on a full disk."""
    began = time.perf_counter()
    root, merged, removed = target.root, 0, 0
    named = target.versions() if root.before is None else root.before.tables
    later = [table for name, table in target.tables.items() if table.version != named.get(name, table.version)]
    for table in target.tables.values() if maintain else ():
        if table not in later:  # the root may name a version whose files a later one has replaced
            removed += table.vacuum()
    try:
        kept, added, tables = update(content, target)
        plain, is_new = root.plain(content, target.tables["leaderboard"].version)
        root.commit(content, target.versions(), plain, index)
        for table in (table for table in target.tables.values() if maintain and table.version >= 0):
            lease.check()
            removed += table.vacuum() if table in later else 0
            merged += table.merge_files()
        root.rename_tables(target.versions())
    except NoSpaceError as error:
        if maintain:
            error.args = (f"{error}; old files removed: {removed:,}",)
        raise
    for table in target.tables.values():
        table.clean_log()
    if is_new:
        n_first = sum(name in PUBLISHED for name in tables)
        tables = (*tables[:n_first], LATEST, *tables[n_first:])
    seconds = time.perf_counter() - began
    fitted = "" if content.learnt is None else content.learnt.note
    notes = content.stale_smoothing, fitted
    return PublishReport(content.n_rounds, kept, added, tables, seconds, merged, removed, *notes)


class _Target:
    """The Delta tables of a run and their root.

    What a publish that was cut off has damaged is removed: it is derived, and no root names it.

    ``rebuild``: take no rows of the tables over, and remove damaged tables.
    """

    def __init__(self, lake: Lake, run_name: str, lease: Lease, rebuild: bool = False) -> None:
        self._lake, self._lease, self._run_name, self._rebuild = lake, lease, run_name, rebuild
        self.root = RootWriter(lake, lease, run_name, rebuild)
        try:
            self.tables = {name: self._open(name) for name in PUBLISHED | FURTHER}
        except DamagedError:
            if not was_cut_off(lake, run_name):
                raise
            log.warning("run %s: its last publish was cut off, and the tables are made again", run_name)
            delete_published(lake, run_name, lease)
            self.root = RootWriter(lake, lease, run_name)
            self.tables = {name: self._open(name) for name in PUBLISHED | FURTHER}

    def _open(self, name: str) -> PublishedTable:
        from .delta_table import PublishedTable

        folder = f"{layout.published_folder(self._run_name)}/{name}"
        schema, partitions = (PUBLISHED | FURTHER)[name], ("year",) if name == "ratings" else ()
        try:
            return PublishedTable(self._lake, folder, schema, partitions, self._lease)
        except DamagedError:
            if self._rebuild:
                self._lease.lake.delete_folder(folder)
                return PublishedTable(self._lake, folder, schema, partitions, self._lease)
            named = {} if self.root.before is None else self.root.before.tables
            if not named or not roll_back(self._lake, folder, named.get(name, -1), self._lease):
                raise
            log.warning("run %s: its last publish was cut off, and changes of %s are made again", self._run_name, name)
            return PublishedTable(self._lake, folder, schema, partitions, self._lease)

    def versions(self) -> dict[str, int]:
        """The version of each table that exists."""
        return {name: table.version for name, table in self.tables.items() if table.version >= 0}

    def state(self, name: str) -> State | None:
        return None if self._rebuild else self.tables[name].state

    def has(self, name: str) -> bool:
        return self.tables[name].version >= 0

    def rows(self, name: str) -> pa.Table:
        return self.tables[name].read()

    def append(self, name: str, rows: Iterable[pa.RecordBatch], state: State, start_round: int | None = None) -> None:
        if start_round is None:
            self._begin(name).append(rows, state)
        else:
            self._begin(name).replace(rows, state, f"round_index >= {start_round}" if start_round else None)

    def replace(self, name: str, rows: pa.Table, state: State) -> None:
        self._begin(name).replace(rows.to_batches(), state)

    def _begin(self, name: str) -> PublishedTable:
        """The table to which a new version is about to be committed."""
        self._lease.check()
        self.tables[name].create()
        self._lease.check()  # after the read: a later commit of another writer conflicts with the new version
        return self.tables[name]
