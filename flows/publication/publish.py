"""Publish a run as tables for consumers; the tables are derived and can be made again at any time.

Each table is a Delta Lake table with one commit per publish, and the versions of the last week stay readable. The
leaderboard is also one plain Parquet file. The root, ``index.json``, is replaced last and names the version of each
table and the files: readers that begin there see all tables of one publish. If the process is killed or loses power,
the root names the versions of before, which are complete, and the next publish continues.

Each commit of a table stores the state of the run. Ratings before the first changed round stay, and later ones are
replaced; without a change, new ones are appended. The Delta library flushes nothing: a power cut during a publish can
damage versions of tables that no root names yet. The next publish removes and makes them again.

Two further tables, the attributes of players and the ratings of groups, exist from the first publish on that finds
attributes in the data set.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from ranklake.storage import DamagedError, Lake, Run
from ranklake.storage.lake import layout
from ranklake.storage.lake.errors import NoSpaceError
from ranklake.storage.lake.schemas import OF_ATTRIBUTES, PUBLISHED
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.lease import Lease

from ..common.extras import need
from ..common.progress import ProgressCallback, not_shown
from ..common.text import count
from ..common.titles import TitlesChoice
from .content import Content
from .index_manifest import LATEST, delete_published, was_cut_off
from .index_writer import RootWriter

if TYPE_CHECKING:
    from .delta_table import PublishedTable

__all__ = ["PublishReport", "publish"]

log = logging.getLogger("ranklake.publish")


@dataclass(frozen=True, slots=True)
class PublishReport:
    """The report of a publish.

    Attributes
    ----------
    rounds : int
        Number of published rounds.
    kept, added : int
        Rounds whose ratings were already published; written rows of ratings.
    tables : tuple of str
        Tables that have a new version.
    merged, removed : int
        Number of merged small files; number of removed unreferenced files.
    stale_smoothing : str
        Why a smoothing was not published, and the remedy; empty if it was, or if there is none.
    """

    rounds: int
    kept: int
    added: int
    tables: tuple[str, ...]
    seconds: float
    merged: int = 0
    removed: int = 0
    stale_smoothing: str = ""

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
        return text + (f"; {self.stale_smoothing}" if self.stale_smoothing else "")


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
) -> PublishReport:
    """Publish the current state of a run.

    Parameters
    ----------
    deviations, titles
        See :class:`ranklake.flows.answers.rated_run.RatedRun`.
    maintain
        Also merge small files, and remove files that no version of the last week refers to.
    steal
        Take the lease over from a writer that is certainly dead.
    rebuild
        First delete the published tables with their older versions; repairs damaged tables.
    index
        Also write the index for commands and the server; see ``ranklake.flows.publication.index_manifest``. False
        deletes an existing one.
    on_progress
        As for :class:`ranklake.flows.publication.content.Content`.

    Raises
    ------
    LakeError
        The run does not exist or has no ratings, another writer holds its lease, or a published table is damaged.
    MissingExtraError
        The package deltalake is not installed.
    """
    need("deltalake", "publish", "publishing")
    from .delta_table import check_lake

    check_lake(lake)
    Run.open(lake, run_name)
    frees_space = maintain or rebuild
    with hold_lease(
        lake, layout.run_folder(run_name), f"publish {run_name}", steal=steal, frees_space=frees_space
    ) as lease:
        if rebuild:
            delete_published(lake, run_name, lease)
        content = Content(lake, run_name, deviations, titles, on_progress)
        return _Publisher(lake, run_name, content, lease).publish(maintain, index)


class _Publisher:
    """Brings the tables from their stored states to the content."""

    def __init__(self, lake: Lake, run_name: str, content: Content, lease: Lease) -> None:
        self._began = time.perf_counter()
        self._lake, self._lease, self._run_name = lake, lease, run_name
        self._content, self._root = content, RootWriter(lake, lease, run_name)
        self._tables = self._open()
        self._new: list[str] = []

    def publish(self, maintain: bool, index: bool) -> PublishReport:
        """Publish all tables; players and contests before the ratings that refer to them, so that joins are complete.

        Old files are removed first, which frees space on a full disk.
        """
        merged = removed = 0
        named = self._versions() if self._root.before is None else self._root.before.tables
        later = [table for name, table in self._tables.items() if table.version != named.get(name, table.version)]
        for table in self._tables.values() if maintain else ():
            if table not in later:  # the root may name a version whose files a later one has replaced
                removed += table.vacuum()
        try:
            self._publish_list("players")
            self._publish_list("contests")
            kept, added = self._publish_ratings()
            self._publish_leaderboard()
            self._publish_attributes()
            plain, is_new = self._root.plain(self._content, self._tables["leaderboard"].version)
            self._new += [LATEST] if is_new else []
            self._root.commit(self._content, self._versions(), plain, index)
            for table in (table for table in self._tables.values() if maintain and table.version >= 0):
                self._lease.check()
                removed += table.vacuum() if table in later else 0
                merged += table.merge_files()
            self._root.rename_tables(self._versions())
        except NoSpaceError as error:
            if maintain:
                error.args = (f"{error}; old files removed: {removed:,}",)
            raise
        for table in self._tables.values():
            table.clean_log()
        seconds = time.perf_counter() - self._began
        counts = self._content.n_rounds, kept, added, tuple(self._new), seconds, merged, removed
        return PublishReport(*counts, self._content.stale_smoothing)

    def _open(self) -> dict[str, PublishedTable]:
        """The tables. What a publish that was cut off has damaged is removed: it is derived, and no root names it."""
        try:
            return {name: self._open_table(name) for name in PUBLISHED | OF_ATTRIBUTES}
        except DamagedError:
            if not was_cut_off(self._lake, self._run_name):
                raise
            log.warning("run %s: its last publish was cut off, and the tables are made again", self._run_name)
            delete_published(self._lake, self._run_name, self._lease)
            self._root = RootWriter(self._lake, self._lease, self._run_name)
            return {name: self._open_table(name) for name in PUBLISHED | OF_ATTRIBUTES}

    def _open_table(self, name: str) -> PublishedTable:
        from .delta_table import PublishedTable, roll_back

        folder = f"{layout.published_folder(self._run_name)}/{name}"
        schema, partitions = (PUBLISHED | OF_ATTRIBUTES)[name], ("year",) if name == "ratings" else ()
        try:
            return PublishedTable(self._lake, folder, schema, partitions, self._lease)
        except DamagedError:
            named = {} if self._root.before is None else self._root.before.tables
            if not named or not roll_back(self._lake, folder, named.get(name, -1), self._lease):
                raise
            log.warning("run %s: its last publish was cut off, and changes of %s are made again", self._run_name, name)
            return PublishedTable(self._lake, folder, schema, partitions, self._lease)

    def _versions(self) -> dict[str, int]:
        """The version of each table that exists."""
        return {name: table.version for name, table in self._tables.items() if table.version >= 0}

    def _publish_list(self, name: str) -> None:
        """Publish players or contests: append new rows, or replace all if a published row has changed."""
        rows, before = getattr(self._content, name), self._tables[name].state or {}
        n, state = rows.num_rows, {"rows": rows.num_rows, "digest": self._content.digest(name, rows.num_rows)}
        if before == state:
            return
        published = int(before.get("rows", 0))
        added = 0 < published < n and self._content.digest(name, published) == before.get("digest")
        table = self._commit(name)
        if added:
            table.append(rows.slice(published).to_batches(), state)
        else:
            table.replace(rows.to_batches(), state)

    def _publish_ratings(self) -> tuple[int, int]:
        """Publish one row per participation; returns the rounds published before and the rows written."""
        kept, published = self._before("ratings")
        if kept == published == self._content.n_rounds:
            return kept, 0
        added = 0

        def rows() -> Iterator[pa.RecordBatch]:
            nonlocal added
            for batch in self._content.ratings(kept):
                added += batch.num_rows
                yield batch

        table, state = self._commit("ratings"), self._content.state("ratings")
        if kept == published > 0:
            table.append(rows(), state)
        else:
            table.replace(rows(), state, f"round_index >= {kept}" if kept else None)
        return kept, added

    def _publish_leaderboard(self) -> None:
        kept, published = self._before("leaderboard")
        same_titles = self._content.same_titles(self._tables["leaderboard"].state)
        if kept == published == self._content.n_rounds and same_titles:
            return
        if kept == published > 0:
            board = self._content.leaderboard(self._tables["leaderboard"].read(), published)
        else:
            board = self._content.leaderboard()
        self._commit("leaderboard").replace(board.to_batches(), self._content.state("leaderboard"))

    def _publish_attributes(self) -> None:
        """Publish attributes and groups if there are any or were before."""
        for name in OF_ATTRIBUTES:
            table, state = self._tables[name], self._content.attribute_state(name)
            if table.state == state or (table.version < 0 and not self._content.attributes.num_rows):
                continue
            self._commit(name).replace(getattr(self._content, name).to_batches(), state)

    def _before(self, name: str) -> tuple[int, int]:
        """The unchanged rounds of a table, and all its rounds."""
        state = self._tables[name].state
        return (0, 0) if state is None else (self._content.kept(name, state), int(state.get("rows", 0)))

    def _commit(self, name: str) -> PublishedTable:
        """The table to which a new version is about to be committed."""
        self._lease.check()
        self._tables[name].create()
        self._lease.check()  # after the read: a later commit of another writer conflicts with the new version
        self._new.append(name)
        return self._tables[name]
