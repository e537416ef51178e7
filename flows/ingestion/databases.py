"""From a query of a database to a data set, all contests or none; with a watermark only those that changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from ranklake.storage import Ingest, Lake
from ranklake.storage.lake import layout

from ..common.text import count
from ..databases.address import DatabaseAddress
from ..databases.connection import connect
from ..sources.databases.query import Watermark, read_query
from .adding import QUIET, How, count_contests, read_record
from .files import ReadContests, check_options, ingest_contests
from .report import FilesReport

SQL = "sql"  # the name of the source
_OF_FILES = ("input_format", "delimiter", "encoding")
_FORMAT = 1  # increased by a release that reads the same rows as other contests; all are then read again


class _QueryRecord(msgspec.Struct):
    """The last ingestion of a query: a digest of the query and of its options, and the watermark that was reached."""

    query: str
    watermark: Watermark | None = None


@dataclass
class QueryReport(FilesReport):
    """Counts of an ingestion of a query; ``partial`` if only contests with new or changed rows were asked for."""

    partial: bool = False

    def cost(self) -> str:
        """The number of rows, in words."""
        return f"{count(self.read.participations, 'row')}{' new or changed' if self.partial else ''}"


def check_query(
    url: str | None, query: str | None, watermark: str | None = None, options: Mapping[str, Any] | None = None
) -> DatabaseAddress:
    """Raise ``ValueError`` unless the arguments of :func:`ingest_sql` are valid and go together."""
    if not url:
        raise ValueError("source sql needs the address of a database, as postgresql://USER@HOST/DATABASE")
    if not query or not query.strip():
        raise ValueError("source sql needs a query, as 'select contest, player, rank, time from results'")
    address, given = DatabaseAddress.parse(url), dict(options or {})
    if wrong := [name for name in _OF_FILES if name in given]:
        raise ValueError(f"{wrong[0]}: an option of files, not of a database")
    reading = check_options(given)
    if watermark is not None and given.get("mirror"):
        raise ValueError("a mirror needs all rows: leave the watermark out")
    if watermark is not None and reading.order not in (None, "time"):
        raise ValueError("a watermark needs the contests in order of time")
    return address


def ingest_sql(
    lake: Lake,
    url: str,
    query: str,
    dataset: str,
    *,
    watermark: str | None = None,
    options: Mapping[str, Any] | None = None,
    how: How = QUIET,
) -> QueryReport:
    """Bring a data set up to date with a query, one row a participation, all contests or none.

    The rows have the columns of a table of ``read_contests``; contests are ordered by time if there are times.
    ``watermark`` is a column of the query whose value grows whenever a row is added or changed: the next ingestion of
    the same query asks only for contests with such rows; of times, also for those of the last ten minutes. ``options``
    are as for :func:`ranklake.flows.ingestion.files.read_files`.

    Raises as :func:`check_query`; ``DatabaseError``; and ``SourceError`` for a missing column or a contest with a
    fault.
    """
    options = dict(options or {})
    address, reading = check_query(url, query, watermark, options), check_options(options)
    report = QueryReport(SQL, layout.check_dataset_name(dataset))
    facts = [_FORMAT, address.shown, query.strip(), watermark, options]
    digest = hashlib.blake2b(
        json.dumps(facts, sort_keys=True, default=list, allow_nan=False).encode(), digest_size=16
    ).hexdigest()
    place = layout.source_file(dataset, f"sql-{digest[:16]}")
    before, version = read_record(lake, place, _QueryRecord)
    known = count_contests(lake, dataset)
    since = before.watermark if before is not None and before.query == digest and known else None
    report.partial = since is not None and not how.rewrite
    connection = connect(address, read_only=True)
    try:
        result = read_query(connection, query, reading, report.read, watermark, since if report.partial else None)
    finally:
        connection.close()

    def record(adding: Ingest) -> None:
        if watermark is not None:
            reached = _QueryRecord(digest, result.watermark or since)
            adding.record(place, msgspec.json.encode(reached), version)

    if result.table.num_rows or not report.partial:
        contests = result.contests(reading, report.read, address.shown)
        read = ReadContests(contests, report.read, "time" if result.by_time else "source", bool(options.get("mirror")))
        ingest_contests(lake, read, report, replace(how, before_commit=record))
    if report.partial:  # those that were not asked for are unchanged, too
        report.unchanged = count_contests(lake, dataset) - report.new - report.corrected
    report.end()
    return report
