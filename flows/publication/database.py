"""Publish a run into a database, in one transaction: readers see the old state or the new one, never a part.

The tables are those of :mod:`ranklake.flows.publication.publish`. A further table has the digests of the published
rounds and changes in the same transaction. Ratings before the first changed round stay; of the other tables only rows
that differ are written, or all if most of them differ. Results of problems are written as ratings are; attributes and
groups as a whole if any row differs.
A publish that is killed leaves the old state.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any

import pyarrow as pa

from ranklake.storage import Dataset, Lake, Run
from ranklake.storage.datasets.results import StoredResults
from ranklake.storage.datasets.tables.games import GAMES_KIND
from ranklake.storage.lake import layout
from ranklake.storage.lake.schemas import OF_ATTRIBUTES, OF_SEASONS, OF_STRENGTHS
from ranklake.storage.leases.acquire import hold_lease

from ..common.configuration.settings import find_system
from ..common.progress import ProgressCallback, not_shown
from ..databases.address import DatabaseAddress
from ..databases.connection import connect
from ..databases.errors import DatabaseError
from ..problems.columns import OF_PROBLEMS
from ..results.titles import TitlesChoice
from .database_tables import DatabaseTables
from .publish import PublishReport
from .states import State, VersionedContent, update

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
    places: Mapping[str, Any] | None = None,
) -> PublishReport:
    """Publish the current state of a run into a database.

    ``url``: as for :func:`ranklake.flows.databases.connection.connect`. The user may create tables.
    ``schema``, ``prefix``: as for :class:`ranklake.flows.publication.database_tables.DatabaseTables`.
    ``deviations``, ``titles``: see :class:`ranklake.flows.answers.rated_run.RatedRun`.
    ``steal``: take the lease over from a writer that is certainly dead.
    ``rebuild``: first drop the tables of an earlier publish.
    ``on_progress``, ``places``: as for :class:`ranklake.flows.publication.content.Content`.
    Raises ValueError: the address is invalid, or a schema is given for SQLite.
    Raises LakeError: the run does not exist or has no ratings, or another writer holds its lease.
    Raises DatabaseError: the database cannot be reached or refuses a statement, or the tables have other columns or
    another run.
    """
    began, address = time.perf_counter(), DatabaseAddress.parse(url)
    config = Run.open(lake, run_name).config
    dataset = Dataset.open(lake, config["dataset"])
    further = [*OF_ATTRIBUTES] if dataset.attributes().num_rows else []
    if dataset.kind != GAMES_KIND and StoredResults.open(lake, dataset.name).digest:
        further += OF_PROBLEMS
    if find_system(config["system"]).all_games is not None:
        further += OF_STRENGTHS
    if dataset.events():
        further += OF_SEASONS
    with (
        closing(connect(address)) as connection,
        hold_lease(lake, layout.run_folder(run_name), f"publish {run_name}", steal=steal) as lease,
    ):
        tables = DatabaseTables(connection, schema, prefix, dataset.kind == GAMES_KIND)
        with tables.publishing(rebuild=rebuild, further=further):
            before = tables.states()
            if before.get(_RUN, run_name) != run_name:
                rule = f"the tables have the run {before[_RUN]}"
                raise DatabaseError(address.shown, f"{rule}; {tables.elsewhere()}, or replace them with --afresh")
            shown = ("ratings", "leaderboard")
            content = VersionedContent(lake, run_name, deviations, titles, on_progress, shown, places)
            target = _Target(tables, before)
            changes = update(content, target)
            on_progress(0, None, "indexes")
            tables.index()
            if changes.tables:
                tables.store({**target.states, _RUN: run_name})
            lease.check()
    seconds = time.perf_counter() - began
    return PublishReport(content.n_rounds, *changes, seconds, stale_smoothing=content.stale_smoothing)


class _Target:
    """The tables, and the states to be stored with the last of them."""

    def __init__(self, tables: DatabaseTables, states: dict[str, Any]) -> None:
        self._tables, self.states = tables, states
        self._read: dict[str, pa.Table] = {}

    def state(self, name: str) -> State | None:
        found: State | None = self.states.get(name)
        return found

    def has(self, name: str) -> bool:
        return self._tables.has(name)

    def rows(self, name: str) -> pa.Table:
        self._read[name] = self._tables.rows(name)
        return self._read[name]

    def append(self, name: str, rows: Iterable[pa.RecordBatch], state: State, start_round: int | None = None) -> None:
        if start_round is not None:
            self._tables.cut(name, start_round)
        self._tables.append(name, rows)
        self.states[name] = state

    def replace(self, name: str, rows: pa.Table, state: State) -> None:
        if name in OF_ATTRIBUTES or name in OF_STRENGTHS:
            self._tables.replace(name, rows)
        else:
            self._tables.merge(name, rows, self._read.get(name))
        self.states[name] = state
