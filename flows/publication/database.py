"""Publish a run into a database, in one transaction: readers see the old state or the new one, never a part.

The tables are those of :mod:`ranklake.flows.publication.publish`. A further table has the digests of the published
rounds and changes in the same transaction. Ratings before the first changed round stay; of the other tables only rows
that differ are written, or all if most of them differ. Attributes and groups are written as a whole if any row differs.
A publish that is killed leaves the old state.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

from ranklake.storage import Dataset, Lake, Run
from ranklake.storage.lake import layout
from ranklake.storage.lake.schemas import OF_ATTRIBUTES
from ranklake.storage.leases.acquire import hold_lease

from ..common.progress import ProgressCallback, not_shown
from ..common.titles import TitlesChoice
from ..databases.address import DatabaseAddress
from ..databases.connection import connect
from ..databases.errors import DatabaseError
from .content import Content
from .database_tables import DatabaseTables
from .publish import PublishReport

__all__ = ["publish_to_database"]

_RUN = "run"  # the state with the name of the run


def publish_to_database(
    lake: Lake,
    run_name: str,
    url: str,
    schema: str | None = None,
    prefix: str = "",
    deviations: float | None = None,
    titles: TitlesChoice = None,
    *,
    steal: bool = False,
    rebuild: bool = False,
    on_progress: ProgressCallback = not_shown,
) -> PublishReport:
    """Publish the current state of a run into a database.

    Parameters
    ----------
    url
        As for :func:`ranklake.flows.databases.connection.connect`. The user may create tables.
    schema, prefix
        As for :class:`ranklake.flows.publication.database_tables.DatabaseTables`.
    deviations, titles
        See :class:`ranklake.flows.answers.rated_run.RatedRun`.
    steal
        Take the lease over from a writer that is certainly dead.
    rebuild
        First drop the tables of an earlier publish.
    on_progress
        As for :class:`ranklake.flows.publication.content.Content`.

    Raises
    ------
    ValueError
        The address is invalid, or a schema is given for SQLite.
    LakeError
        The run does not exist or has no ratings, or another writer holds its lease.
    DatabaseError
        The database cannot be reached or refuses a statement, or the tables have other columns or another run.
    """
    began, address = time.perf_counter(), DatabaseAddress.parse(url)
    dataset = Dataset.open(lake, Run.open(lake, run_name).config["dataset"])
    attributes = bool(dataset.attributes().num_rows)
    with (
        closing(connect(address)) as connection,
        hold_lease(lake, layout.run_folder(run_name), f"publish {run_name}", steal=steal) as lease,
    ):
        tables = DatabaseTables(connection, schema, prefix)
        with tables.publishing(rebuild=rebuild, attributes=attributes):
            before = tables.states()
            if before.get(_RUN, run_name) != run_name:
                rule = f"the tables have the run {before[_RUN]}"
                raise DatabaseError(address.shown, f"{rule}; {tables.elsewhere()}, or replace them with --afresh")
            content = Content(lake, run_name, deviations, titles, on_progress, ("ratings", "leaderboard"))
            publisher = _Publisher(tables, content, before)
            kept, added, new = publisher.publish()
            on_progress(0, None, "indexes")
            tables.index()
            if new:
                tables.store({_RUN: run_name, **publisher.states})
            lease.check()
    seconds = time.perf_counter() - began
    return PublishReport(content.n_rounds, kept, added, new, seconds, stale_smoothing=content.stale_smoothing)


class _Publisher:
    """Brings the tables from the stored states to the content."""

    def __init__(self, tables: DatabaseTables, content: Content, before: dict[str, Any]) -> None:
        self._tables, self._content, self._before = tables, content, before
        self.states: dict[str, Any] = {}
        self._new: list[str] = []

    def publish(self) -> tuple[int, int, tuple[str, ...]]:
        """The rounds published before and unchanged, the ratings written, and the names of changed tables."""
        self._list("players")
        self._list("contests")
        kept, added = self._ratings()
        self._leaderboard()
        if self._tables.has("attributes"):
            self._attributes()
        return kept, added, tuple(self._new)

    def _list(self, name: str) -> None:
        """Players or contests: append new rows, or merge if a published row has changed."""
        rows, before = getattr(self._content, name), self._before.get(name, {})
        state = self.states[name] = {"rows": len(rows), "digest": self._content.digest(name, len(rows))}
        if state == before:
            return
        published = int(before.get("rows", 0))
        self._new.append(name)
        if published < len(rows) and (not published or self._content.digest(name, published) == before["digest"]):
            self._tables.append(name, rows.slice(published).to_batches())
        else:
            self._tables.merge(name, rows)

    def _ratings(self) -> tuple[int, int]:
        self.states["ratings"] = self._content.state("ratings")
        kept, published = self._kept("ratings")
        if kept == published == self._content.n_rounds:
            return kept, 0
        self._new.append("ratings")
        if kept < published:
            self._tables.cut("ratings", kept)
        return kept, self._tables.append("ratings", self._content.ratings(kept))

    def _leaderboard(self) -> None:
        self.states["leaderboard"] = self._content.state("leaderboard")
        kept, published = self._kept("leaderboard")
        if kept == published == self._content.n_rounds and self._content.same_titles(self._before.get("leaderboard")):
            return
        self._new.append("leaderboard")
        stored = self._tables.rows("leaderboard")
        board = self._content.leaderboard(stored, published) if kept == published > 0 else self._content.leaderboard()
        self._tables.merge("leaderboard", board, stored)

    def _attributes(self) -> None:
        """Attributes and groups: all rows, if any has changed."""
        for name in OF_ATTRIBUTES:
            state = self.states[name] = self._content.attribute_state(name)
            if state == self._before.get(name):
                continue
            self._new.append(name)
            self._tables.replace(name, getattr(self._content, name))

    def _kept(self, name: str) -> tuple[int, int]:
        """The unchanged rounds of a table, and all its rounds."""
        state = self._before.get(name)
        return (0, 0) if state is None else (self._content.kept(name, state), int(state.get("rows", 0)))
