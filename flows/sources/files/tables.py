"""Tables of results from one or several files, as contests; faults have file, row and line."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa

from ranklake.storage.datasets.tables.contests import Contest

from ..base import IngestReport, Order, SourceError
from ..columns import decoded, is_text
from ..options import ReadOptions
from ..results import contests_from_results, with_contest
from .inputs import Input, damage_of
from .json_tables import read_json
from .parquet_tables import read_delta, read_parquet
from .parts import Reading, TablePart, row_in_file
from .text_tables import read_text


def read_tables(
    inputs: Sequence[Input], options: ReadOptions, report: IngestReport, source: str
) -> Iterator[Contest | SourceError]:
    """Contests of a table in one file, or in several files that are read as one table.

    Raises ``SourceError`` as ``contests_from_results``, and if a file cannot be read, lacks a column or has one of
    another type than the others.
    """
    table, columns, parts, offsets = _read(inputs, options, report)
    if "contest" not in columns:  # of a table that is one contest
        table, columns = with_contest(table, columns, inputs[0].stem)
    notes: list[str] = []
    faults = {
        offset + row: rule
        for offset, (_, part) in zip(offsets, parts, strict=False)
        for row, rule in part.faults.items()
    }
    order = options.order or _order_of(table, columns, parts)
    contests = contests_from_results(
        table, columns, order=order, source=source, options=options, notes=notes, faults=faults,
        on_count=partial(setattr, report, "there"),
    )  # fmt: skip
    try:
        for contest in contests:
            if notes:
                report.notes += [*_split(table, columns, offsets), *notes]
                notes.clear()
            yield _placed(contest, parts, offsets) if isinstance(contest, SourceError) else contest
    except SourceError as error:
        raise _placed(error, parts, offsets) from None


def _read(
    inputs: Sequence[Input], options: ReadOptions, report: IngestReport
) -> tuple[pa.Table, dict[str, str], list[tuple[str, TablePart]], list[int]]:
    """The table, its columns by key, its files, and the first row of each file."""
    tables: list[pa.Table] = []
    parts: list[tuple[str, TablePart]] = []
    reading = Reading(options, report)
    first: dict[str, str] = {}
    for file in inputs:
        with damage_of(file.name):
            part = _READERS[file.form](file, reading)
        table, columns = part.table, part.columns
        if not tables:
            first = columns
            present = [*part.present, *file.folder_values]
            report.notes.append(options.columns.notes(columns, present) + (f"; {part.note}" if part.note else ""))
        elif columns.keys() != first.keys():
            key = min(columns.keys() ^ first.keys())
            has, lacks = (file.name, inputs[0].name) if key in columns else (inputs[0].name, file.name)
            raise SourceError(
                f"{has} has a column for {key}, {lacks} has none; --column {key}= leaves it out", file.name
            )
        names = {column: first[key] for key, column in columns.items()}
        for name in [name for name in names if name not in table.column_names]:
            table = table.append_column(name, file.folder_column(name, len(table)))
        tables.append(table.rename_columns([names[name] for name in table.column_names]))
        parts.append((file.name, part))
    if len(tables) > 1:
        tables = with_common_types(tables, [name for name, _ in parts])
    offsets = np.cumsum([0, *(table.num_rows for table in tables)]).tolist()
    if len(tables) > 1:
        report.notes.append(f"columns of {len(tables)} files: {inputs[0].name} to {inputs[-1].name}, in order of name")
    return pa.concat_tables(tables), first, parts, offsets


def _order_of(table: pa.Table, columns: dict[str, str], parts: list[tuple[str, TablePart]]) -> Order:
    """The order of the contests, unless one was chosen; ``SourceError`` if the rows have no order of their own, and no
    time.
    """
    unordered = next((name for name, part in parts if not part.ordered), None)
    if unordered is None:
        return "given"
    if "time" not in columns and len(decoded(table[columns["contest"]]).unique()) > 1:
        rule = (
            "the order of the contests is unknown: a Delta table has no order of rows, and there is no column of times"
        )
        remedy = "--column time=... names one, --order number takes the contests by number"
        raise SourceError(f"{rule}; {remedy}", unordered)
    return "time" if "time" in columns else "given"


_READERS: dict[str, Callable[[Input, Reading], TablePart]] = {
    "csv": read_text,
    "tsv": read_text,
    "json": read_json,
    "jsonl": read_json,
    "parquet": read_parquet,
    "delta": read_delta,
}


def _split(table: pa.Table, columns: dict[str, str], offsets: list[int]) -> list[str]:
    """A note if contests have rows in several files: they may be different contests with the same id."""
    if len(offsets) == 2:
        return []
    ids = decoded(table[columns["contest"]])
    distinct = [len(ids.slice(a, b - a).unique()) for a, b in pairwise(offsets)]
    shared = sum(distinct) - len(ids.unique())
    return [f"contests with rows in more than one file: {shared:,}"] if shared else []


def _placed(error: SourceError, parts: list[tuple[str, TablePart]], offsets: list[int]) -> SourceError:
    """An error about rows of the whole table as one about rows and lines of a file."""
    if not error.rows:
        return error
    where = [bisect.bisect_right(offsets, row - 1) - 1 for row in error.rows]
    first, last = where[0], where[-1]
    name, part = parts[last]
    rows = [row - offsets[last] for row, at in zip(error.rows, where, strict=True) if at == last]
    rule = error.rule
    if first != last:
        begins = row_in_file(error.rows[0] - offsets[first], parts[first][1].left_out)
        rule += f" (the contest begins in {parts[first][0]}, row {begins})"
    rows = [row_in_file(row, part.left_out) for row in rows]
    n = error.participations
    return SourceError(rule, name, error.contest, error.member, rows, part.lines(rows), participations=n)


_UNITS = ("s", "ms", "us", "ns")


def with_common_types(tables: Sequence[pa.Table], names: Sequence[str]) -> list[pa.Table]:
    """Tables with the same columns, each column with one type.

    Types of text become one, and so do whole numbers of several sizes, numbers with and without a fraction, dates and
    timestamps of several units; timestamps without a zone are UTC. An empty column takes the type of the others. Raises
    ``SourceError`` for types of several kinds, or a value that the common type does not hold; names both files.
    """
    columns: dict[str, list[pa.ChunkedArray]] = {}
    for column in tables[0].column_names:
        parts = [decoded(table[column]) for table in tables]
        kind = parts[0].type
        for number, part in enumerate(parts):
            common = _common_type(kind, part.type)
            if common is None:
                kinds = f"{kind} in {names[0]}, {part.type} here"
                rule = f"the column {column!r} holds {kinds}; files of one table need equivalent types"
                raise SourceError(rule, names[number])
            kind = common
        columns[column] = [_cast(part, kind, column, name) for part, name in zip(parts, names, strict=True)]
    return [pa.table({column: parts[i] for column, parts in columns.items()}) for i in range(len(tables))]


def _common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that holds the values of two types; None if they are of several kinds."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if is_text(one) and is_text(other):
        return pa.large_string()
    dates = [pa.types.is_date(kind) for kind in (one, other)]
    if all(dates):
        return pa.date32()
    if all(pa.types.is_date(kind) or pa.types.is_timestamp(kind) for kind in (one, other)):
        units = [kind.unit for kind in (one, other) if pa.types.is_timestamp(kind)]
        return pa.timestamp(max(units, key=_UNITS.index), "UTC")
    decimals = [kind for kind in (one, other) if pa.types.is_decimal(kind)]
    if decimals and all(pa.types.is_integer(kind) or pa.types.is_decimal(kind) for kind in (one, other)):
        return pa.decimal256(76, max(kind.scale for kind in decimals))  # Arrow's own choice can be too narrow
    try:
        schemas = [pa.schema([("", kind)]) for kind in (one, other)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


def _cast(column: pa.ChunkedArray, kind: pa.DataType, name: str, source: str) -> pa.ChunkedArray:
    try:
        return column.cast(kind)
    except pa.ArrowException as error:
        rule = f"the column {name!r} holds a value that is no {kind}, the common type of all files: {error}"
        raise SourceError(rule.splitlines()[0], source) from None
