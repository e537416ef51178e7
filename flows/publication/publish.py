"""Publish a run as tables for consumers; the tables are derived and can be made again at any time.

Each table is a Delta Lake table with one commit per publish: readers see whole versions, and the versions of the last
week stay readable. The leaderboard is also one plain Parquet file. Each commit stores the state of the run. Ratings
before the first changed round stay, and later ones are replaced; without a change, new ones are appended. If the
process is killed, each table has its old or its new version, and the next publish updates it. The Delta library flushes
nothing: a power cut during a publish can damage the newest version of a table. The file ``unfinished.json`` shows
that, and the next publish makes the tables again.

Two further tables, the attributes of players and the ratings of groups, exist from the first publish on that finds
attributes in the data set.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ranklake.storage import DamagedError, Lake, MissingError, Run
from ranklake.storage.lake import layout
from ranklake.storage.lake.access.lake import digest_of
from ranklake.storage.lake.errors import NoSpaceError
from ranklake.storage.lake.parquet import encode_plain
from ranklake.storage.lake.schemas import OF_ATTRIBUTES, PUBLISHED
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.lease import Lease

from ..common.extras import need
from ..common.progress import ProgressCallback, not_shown
from ..common.text import count
from ..common.titles import TitlesChoice
from .content import Content
from .files import LATEST, LATEST_OF, UNFINISHED, delete_published
from .index_writer import IndexWriter, delete_index

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
        try:
            publisher = _Publisher(lake, run_name, content, lease, index)
        except DamagedError:
            if not lake.exists(f"{layout.published_folder(run_name)}/{UNFINISHED}"):
                raise
            log.warning("run %s: its last publish was cut off, and the tables are made again", run_name)
            delete_published(lake, run_name, lease)
            publisher = _Publisher(lake, run_name, content, lease, index)
        return publisher.publish(maintain)


class _Publisher:
    def __init__(self, lake: Lake, run_name: str, content: Content, lease: Lease, index: bool) -> None:
        from .delta_table import PublishedTable

        self._began = time.perf_counter()
        self._lake, self._lease, self._folder = lake, lease, layout.published_folder(run_name)
        self._run_name, self._index = run_name, index
        self._content = content
        self._tables = {
            name: PublishedTable(lake, f"{self._folder}/{name}", schema, ("year",) if name == "ratings" else (), lease)
            for name, schema in (PUBLISHED | OF_ATTRIBUTES).items()
        }
        self._new: list[str] = []
        self._marked = lake.exists(f"{self._folder}/{UNFINISHED}")

    def publish(self, maintain: bool) -> PublishReport:
        """Publish all tables; players and contests before the ratings that refer to them, so that joins are complete.

        Old files are removed first, which frees space on a full disk.
        """
        merged = removed = 0
        for table in self._tables.values() if maintain else ():
            with suppress(NoSpaceError):  # this may free some
                self._begin()
            removed += table.vacuum()
        try:
            self._publish_list("players")
            self._publish_list("contests")
            kept, added = self._publish_ratings()
            board = self._publish_attributes(self._publish_leaderboard())
            if self._index:
                IndexWriter(self._lake, self._lease, self._run_name, self._content).publish(board)
            else:
                delete_index(self._lake, self._run_name, self._lease)
            for table in (table for table in self._tables.values() if maintain and table.version >= 0):
                self._lease.check()
                merged += table.merge_files()
        except NoSpaceError as error:
            if maintain:
                error.args = (f"{error}; old files removed: {removed:,}",)
            raise
        if self._marked:
            self._lake.flush()
            self._lease.delete(f"{self._folder}/{UNFINISHED}")
        seconds = time.perf_counter() - self._began
        counts = self._content.n_rounds, kept, added, tuple(self._new), seconds, merged, removed
        return PublishReport(*counts, self._content.stale_smoothing)

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

    def _publish_leaderboard(self) -> pa.Table | None:
        """Publish the leaderboard; returns it if it was computed."""
        kept, published = self._before("leaderboard")
        board = None
        same_titles = self._content.same_titles(self._tables["leaderboard"].state)
        if not (kept == published == self._content.n_rounds and same_titles):
            if kept == published > 0:
                board = self._content.leaderboard(self._tables["leaderboard"].read(), published)
            else:
                board = self._content.leaderboard()
            self._commit("leaderboard").replace(board.to_batches(), self._content.state("leaderboard"))
        return self._publish_latest(board)

    def _publish_latest(self, board: pa.Table | None) -> pa.Table | None:
        """Write the leaderboard as one file, unless the file has the newest version."""
        table, folder = self._tables["leaderboard"], self._folder
        entries = self._lake.entries(folder)
        for name in entries:
            if name.startswith(layout.TEMPORARY_PREFIX):  # left by a crash
                self._lease.delete(f"{folder}/{name}")
        if board is None:
            latest = self._latest()
            if (latest.get("version"), latest.get("size")) == (table.version, entries.get(LATEST, (None, ""))[0]):
                return None
            board = self._content.leaderboard()  # the table has no order, and its schema varies
        data = encode_plain(board, ["title"])
        self._lease.check()
        self._lease.replace_bytes(f"{folder}/{LATEST}", data, entries.get(LATEST, (0, ""))[1])
        latest_of = {"version": table.version, "size": data.size, "digest": digest_of(data)}
        version = entries.get(LATEST_OF, (0, ""))[1]
        self._lease.replace_bytes(f"{folder}/{LATEST_OF}", json.dumps(latest_of, allow_nan=False).encode(), version)
        self._new.append(LATEST)
        return board

    def _publish_attributes(self, board: pa.Table | None) -> pa.Table | None:
        """Publish attributes and groups if there are any or were before; returns the leaderboard if it was computed."""
        for name in OF_ATTRIBUTES:
            table, state, rows = self._tables[name], self._content.attribute_state(name), self._content.attributes
            if table.state == state or (table.version < 0 and not rows.num_rows):
                continue
            if name == "groups":
                board = self._content.leaderboard() if board is None else board
                rows = self._content.groups(board)
            self._commit(name).replace(rows.to_batches(), state)
        return board

    def _latest(self) -> dict[str, Any]:
        """The version of the plain leaderboard and its size in bytes; empty if unknown."""
        try:
            return dict(json.loads(self._lake.read_bytes(f"{self._folder}/{LATEST_OF}")))
        except (MissingError, ValueError, TypeError):
            return {}

    def _before(self, name: str) -> tuple[int, int]:
        """The unchanged rounds of a table, and all its rounds."""
        state = self._tables[name].state
        return (0, 0) if state is None else (self._content.kept(name, state), int(state.get("rows", 0)))

    def _begin(self) -> None:
        """Mark the publish as unfinished, before its first change."""
        self._lease.check()
        if self._lake.local and not self._marked:
            self._lease.commit_bytes(f"{self._folder}/{UNFINISHED}", b"{}")
            self._marked = True

    def _commit(self, name: str) -> PublishedTable:
        """The table to which a new version is about to be committed."""
        self._begin()
        self._tables[name].create()
        self._lease.check()  # after the read: a later commit of another writer conflicts with the new version
        self._new.append(name)
        return self._tables[name]
