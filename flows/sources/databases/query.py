"""Contests from a query of a database: one row a participation, with the columns and the checks of a table in a file.

A database returns rows in any order, and in another one the next time. The rows are therefore sorted by contest and
player, unless the order of the query itself is asked for, so that the same rows are always the same contests.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage.datasets.tables.contests import Contest

from ...common.text import quoted
from ...databases.address import Kind
from ...databases.base import Connection
from ...databases.dialects import quote
from ...databases.row_batches import united
from ..base import IngestReport, SourceError, filter_contests
from ..columns import Longs, check_flat, decoded, is_text
from ..files.parts import Reading
from ..limits import check_width
from ..options import ReadOptions
from ..results import contests_from_results

_NAMED = 3  # players in a message


@dataclass(frozen=True)
class QueryResult:
    """The rows of a query: the used columns, with their names by key; whether contests are in order of time, else in
    that of their ids or of the rows; the largest value of the watermark's column, if any; and, by row from 0, texts
    that are not UTF-8, whose contests are skipped.
    """

    table: pa.Table
    columns: dict[str, str]
    watermark: Watermark | None
    by_time: bool
    faults: dict[int, str]

    def contests(self, options: ReadOptions, report: IngestReport, source: str) -> Iterator[Contest]:
        """The contests, in the order in which they are to be rated; ``report`` is filled while they are read."""
        if self.table.num_rows == 0:
            return iter(())
        items = self._items(
            replace(options, order="time" if self.by_time else options.order or "given"), report, source
        )
        return filter_contests(
            items, report, on_error=options.on_error, dedupe=options.dedupe, in_field=options.field_includes_unrated
        )

    def _items(self, options: ReadOptions, report: IngestReport, source: str) -> Iterator[Contest | SourceError]:
        notes: list[str] = []
        contests = contests_from_results(
            self.table, self.columns, order=options.order or "given", source=source, options=options, notes=notes,
            faults=self.faults, on_count=partial(setattr, report, "there"),
        )  # fmt: skip
        try:
            for item in contests:
                report.notes += notes
                notes.clear()
                yield self._named(item) if isinstance(item, SourceError) else item
        except SourceError as error:
            raise self._named(error) from None

    def _named(self, error: SourceError) -> SourceError:
        """An error with the players of the rows instead of their numbers, which mean nothing in a database."""
        names = [self.table[self.columns["player"]][row - 1].as_py() for row in error.rows[:_NAMED]]
        who = ", ".join(map(quoted, names)) + (", ..." if len(error.rows) > _NAMED else "")
        noun = "player" if len(error.rows) == 1 else "players"
        rule = f"{error.rule} ({noun} {who})" if names else error.rule
        return SourceError(rule, error.source, error.contest, participations=error.participations)


def read_query(
    connection: Connection, query: str, options: ReadOptions, report: IngestReport,
    watermark: str | None = None, since: Watermark | None = None,
) -> QueryResult:  # fmt: skip
    """The rows of a query, a single statement. Of ``options``, those for files are ignored.

    With ``since``, only contests with a row whose ``watermark`` is at least this value, or null, are read, each of them
    in full. Raises ``DatabaseError`` if the query fails, ``SourceError`` for a missing column or beyond a limit, and
    ``ValueError`` for a watermark without an order by time.
    """
    query = query.strip().rstrip(";")
    asked = query
    if watermark is not None:
        with connection.read(f"select * from (\n{query}\n) as results where 1 = 0") as (schema, _):
            columns = options.columns.find(schema.names, connection.shown)
        if watermark not in schema.names:
            listed = ", ".join(map(quoted, schema.names))
            raise SourceError(
                f"there is no watermark column {quoted(watermark)} among the columns {listed}", connection.shown
            )
        if options.order not in (None, "time") or "time" not in columns:
            rule = "a watermark needs contests in order of time: the query must have a column time, and no other order"
            raise ValueError(rule)
        if since is not None:
            asked = _changed(query, columns["contest"], watermark, since, connection)
    reading = Reading(options, report)
    with connection.read(asked) as (schema, batches):
        check_width(len(schema), connection.shown)
        columns = options.columns.find(schema.names, connection.shown)
        used = sorted({*columns.values(), *([watermark] if watermark else [])})
        check_flat(schema, used, connection.shown)
        parts, faults = reading.collect(connection.shown, (batch.select(used) for batch in batches))
        try:
            table = united(pa.schema([schema.field(name) for name in used]), parts)
        except pa.ArrowException as error:
            raise SourceError(f"{error}; cast the column to one type in the query", connection.shown) from None
    report.notes.append(options.columns.notes(columns, [name for name in schema.names if name != watermark]))
    by_time = options.order == "time" or (options.order is None and "time" in columns)
    if options.order != "given" and table.num_rows:
        order = _order(table, columns)
        table = table.take(pa.array(order))
        place = {int(row): at for at, row in enumerate(order)} if faults else {}
        faults = {place[row]: rule for row, rule in faults.items()}
    return QueryResult(table, columns, watermark_of(table, watermark, connection), by_time, faults)


def _changed(query: str, contest: str, watermark: str, since: Watermark, connection: Connection) -> str:
    """The query for all rows of the contests that have a new or changed row."""
    contest, column = quote(contest, connection.kind), quote(watermark, connection.kind)
    is_new = f"changed.{column} is null or changed.{column} >= {since.literal(connection.kind)}"
    new = f"select changed.{contest} from (\n{query}\n) as changed where {is_new}"
    return f"select * from (\n{query}\n) as results where results.{contest} in ({new})"


def _order(table: pa.Table, columns: dict[str, str]) -> Longs:
    """The rows by contest, then by player; numbers as numbers, texts by their bytes, nulls last."""
    keys = [_ranks(decoded(table[columns[key]])) for key in ("player", "contest")]
    return np.lexsort(keys)


def _ranks(column: pa.ChunkedArray) -> Longs:
    encoded = column.dictionary_encode().combine_chunks()
    rank = np.empty(len(encoded.dictionary) + 1, np.int64)
    rank[-1] = len(encoded.dictionary)
    rank[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(encoded.dictionary))
    ranks: Longs = rank[pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)]
    return ranks


# A transaction may commit later than its time says: with times, rows of the last minutes are asked for again.
OVERLAP_SECONDS = 600
_EPOCH = dt.datetime(1970, 1, 1)


class Watermark(msgspec.Struct, frozen=True):
    """A value of the column, by kind: ``number``, ``text`` (SQLite only), ``time`` or ``zoned``, a time with a time
    zone; times are in microseconds since 1970, UTC or without a zone.
    """

    kind: Literal["number", "text", "time", "zoned"]
    value: int | str

    def literal(self, kind: Kind) -> str:
        """The value as SQL; of times, a value :data:`OVERLAP_SECONDS` earlier."""
        if self.kind == "number":
            return str(int(self.value))
        if self.kind == "text":
            text = str(self.value)
            return "'" + text.replace("'", "''") + "'"
        moment = _EPOCH + dt.timedelta(microseconds=int(self.value), seconds=-OVERLAP_SECONDS)
        text = f"{moment:%Y-%m-%d %H:%M:%S.%f}"
        return f"timestamp with time zone '{text}+00'" if self.kind == "zoned" else f"timestamp '{text}'"


def watermark_of(table: pa.Table, name: str | None, connection: Connection) -> Watermark | None:
    """The largest value of a column; None without a column, or if all its values are null.

    Raises ``SourceError`` if the column is neither a whole number nor a time; text, which databases compare in
    different ways, is accepted from SQLite only.
    """
    if name is None:
        return None
    column = decoded(table[name])
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("us"))
    numeric, timed = pa.types.is_integer(column.type), pa.types.is_timestamp(column.type)
    texts = is_text(column.type) and connection.kind == "sqlite"
    if not (numeric or timed or texts or pa.types.is_null(column.type)):
        rule = f"the watermark column {quoted(name)} holds {column.type}; it must hold times or whole numbers"
        raise SourceError(rule, connection.shown)
    if column.null_count == len(column):
        return None
    if timed:
        zoned = column.type.tz is not None
        latest = pc.max(column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())).as_py()
        return Watermark("zoned" if zoned else "time", latest)
    latest = pc.max(column).as_py()
    return Watermark("number" if numeric else "text", latest)
