"""Tables of results from one or several files, as contests; faults are told by file, row and line."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flows.sources.base import IngestReport, SourceError
from flows.sources.columns import decoded
from flows.sources.inputs import Input
from flows.sources.json_tables import read_json
from flows.sources.naming import Columns
from flows.sources.options import ReadOptions
from flows.sources.results import contests_from_results
from flows.sources.text_tables import read_text
from storage.contests import Contest

__all__ = ["Columns", "read_tables"]


_Lines = Callable[[Sequence[int]], list[int]]
_Reader = Callable[[Input, ReadOptions], tuple[pa.Table, dict[str, str], list[str], _Lines, str]]


class _Part(NamedTuple):
    """A file among those that make up a table: what it is called, and the line of each of its rows."""

    name: str
    lines: _Lines


def read_tables(
    inputs: Sequence[Input], options: ReadOptions, report: IngestReport, source: str
) -> Iterator[Contest | SourceError]:
    """Contests of a table that one file holds, or several one behind the other.

    Parameters
    ----------
    inputs
        The files, at least one.
    options
        How they are read.
    report
        Gets notes about what was used.
    source
        What messages call all files together.

    Raises
    ------
    SourceError
        As for :func:`flows.sources.results.contests_from_results`; and a file that cannot be read, lacks a column or
        has one of another type than the others.
    """
    table, columns, parts, offsets = _read(inputs, options, report)
    notes: list[str] = []
    contests = contests_from_results(
        table, columns, order=options.order or "given", source=source, options=options, notes=notes
    )
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
) -> tuple[pa.Table, dict[str, str], list[_Part], list[int]]:
    """The table, its columns by key, its files, and at which row each begins."""
    tables: list[pa.Table] = []
    parts: list[_Part] = []
    first: dict[str, str] = {}
    for one in inputs:
        try:
            table, found, present, lines, note = _READERS[one.form](one, options)
        except (pa.ArrowException, OSError, EOFError) as error:
            raise SourceError(f"cannot be read: {str(error).splitlines()[0]}", one.name) from None
        if not tables:
            first = found
            report.notes.append(options.columns.notes(found, present) + (f"; {note}" if note else ""))
        elif found.keys() != first.keys():
            key = min(found.keys() ^ first.keys())
            has, lacks = (one.name, inputs[0].name) if key in found else (inputs[0].name, one.name)
            raise SourceError(
                f"{has} has a column for {key}, {lacks} has none; --column {key}= leaves it out", one.name
            )
        if len(inputs) > 1:
            names = {column: name for key, column in found.items() for name in [first[key]]}
            table = pa.table({names[name]: decoded(table[name]) for name in table.column_names})
        tables.append(table)
        parts.append(_Part(one.name, lines))
    for table, part in zip(tables, parts, strict=True):
        _check_types(tables[0], table, parts[0].name, part.name)
    offsets = np.cumsum([0, *(table.num_rows for table in tables)]).tolist()
    if len(tables) > 1:
        report.notes.append(f"columns of {len(tables)} files: {parts[0].name} to {parts[-1].name}, in order of name")
    joined = pa.concat_tables(tables, promote_options="permissive") if len(tables) > 1 else tables[0]
    return joined, first, parts, offsets


def _check_types(first: pa.Table, table: pa.Table, first_name: str, name: str) -> None:
    for column in first.column_names:
        try:
            pa.unify_schemas(
                [pa.schema([(column, one[column].type)]) for one in (first, table)], promote_options="permissive"
            )
        except pa.ArrowException:
            kinds = f"{first[column].type} in {first_name}, {table[column].type} here"
            raise SourceError(
                f"the column {column!r} holds {kinds}; files of one table need the same types", name
            ) from None


def _read_parquet(
    source: Input, options: ReadOptions
) -> tuple[pa.Table, dict[str, str], list[str], Callable[[Sequence[int]], list[int]], str]:
    with pq.ParquetFile(source.path) as file:
        present = file.schema_arrow.names
        found = options.columns.find(present, source.name)
        return file.read(columns=sorted(set(found.values()))), found, present, lambda rows: [], ""


_READERS: dict[str, _Reader] = {
    "csv": read_text,
    "tsv": read_text,
    "json": read_json,
    "jsonl": read_json,
    "parquet": _read_parquet,
}


def _split(table: pa.Table, columns: dict[str, str], offsets: list[int]) -> list[str]:
    """A note if contests have rows in several files: they may be different contests with the same id."""
    if len(offsets) == 2:
        return []
    ids = decoded(table[columns["contest"]])
    distinct = [len(ids.slice(a, b - a).unique()) for a, b in pairwise(offsets)]
    shared = sum(distinct) - len(ids.unique())
    return [f"columns of several files: {shared:,} contests have rows in more than one of them"] if shared else []


def _placed(error: SourceError, parts: list[_Part], offsets: list[int]) -> SourceError:
    """An error about rows of the whole table as one about rows and lines of a file."""
    if not error.rows:
        return error
    where = [bisect.bisect_right(offsets, row - 1) - 1 for row in error.rows]
    last = where[-1]
    rows = [row - offsets[last] for row, part in zip(error.rows, where, strict=True) if part == last]
    rule = error.rule
    if where[0] != last:
        rule += f" (the contest begins in {parts[where[0]].name}, row {error.rows[0] - offsets[where[0]]})"
    return SourceError(rule, parts[last].name, error.contest, error.member, rows, parts[last].lines(rows))
