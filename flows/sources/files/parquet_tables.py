"""Tables in Parquet, and Delta tables, read in batches: a file of a few MB may hold billions of values."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..base import SourceError
from ..columns import Batches, check_flat, is_text, plain_types
from ..lake_tables import DeltaRows
from ..limits import MAX_TEXT, byte_count, check_width
from .inputs import Input
from .parts import Reading, TablePart

BATCH_ROWS = 2**16
MAX_FOOTER_BYTES = 2**25  # Arrow takes 17 times as much


def open_parquet(path: str | os.PathLike[str], name: str, texts: Sequence[str] = ()) -> pq.ParquetFile:
    """A Parquet file, after a look at the size of its footer and at the number of its columns.

    ``texts`` are columns that stay dictionary-encoded, as in the file: as plain text a few bytes may become gigabytes.
    """
    with open(path, "rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(end - 8, 0))
        footer = int.from_bytes(file.read(4), "little")
    if MAX_FOOTER_BYTES < footer <= end:
        rule = f"its footer has {byte_count(footer)}, at most {byte_count(MAX_FOOTER_BYTES)} are allowed"
        raise SourceError(f"{rule}; write it with fewer columns or larger row groups", name)
    opened = pq.ParquetFile(path, read_dictionary=texts)
    try:
        check_width(opened.metadata.num_columns, name)
    except SourceError:
        opened.close()
        raise
    return opened


class ParquetTable:
    """A Parquet file before its rows are read: its schema and its footer."""

    def __init__(self, source: Input) -> None:
        self._source = source
        with open_parquet(source.path, source.name) as file:
            self.schema, self.facts = plain_types(file.schema_arrow), file.metadata

    def batches(self, used: list[str], most: int) -> Batches:
        """Some columns in batches of at most ``most`` rows; texts stay dictionary-encoded."""
        texts = [name for name in used if _is_of_bytes(self.schema.field(name).type)]
        with open_parquet(self._source.path, self._source.name, texts) as file:
            for groups in _row_groups(file.metadata, most):
                yield from file.iter_batches(most, row_groups=groups, columns=used)


def _row_groups(facts: pq.FileMetaData, most: int) -> Iterator[list[int]]:
    """Consecutive row groups that fill a batch: Arrow keeps the bytes of all requested ones until the last is read."""
    groups, n = [], 0
    for group in range(facts.num_row_groups):
        groups.append(group)
        n += facts.row_group(group).num_rows
        if n >= most:
            yield groups
            groups, n = [], 0
    if groups:
        yield groups


def read_parquet(source: Input, reading: Reading) -> TablePart:
    """The used columns of a Parquet file."""
    table = ParquetTable(source)
    columns, used = reading.find(table.schema.names, source)
    schema = _flat(table.schema, used, source)
    _check_footer(table.facts, used, source, reading)
    batches, faults = reading.collect(
        source.name,
        table.batches(used, BATCH_ROWS),
        plain=partial(_plain, schema=schema),
        size=lambda batch: sum(_plain_size(column, source) for column in batch.columns),
    )
    return TablePart(pa.Table.from_batches(batches, schema), columns, table.schema.names, faults=faults)


def read_delta(source: Input, reading: Reading) -> TablePart:
    """The used columns of the newest version of a Delta table."""
    rows = DeltaRows(source.path, source.name)
    columns, used = reading.find(rows.schema.names, source)
    schema = _flat(rows.schema, used, source)
    batches, faults = reading.collect(source.name, rows.batches(used))
    table = pa.Table.from_batches(batches, schema)
    return TablePart(table, columns, rows.schema.names, faults=faults, ordered=rows.n_files < 2)


def _flat(schema: pa.Schema, used: Sequence[str], source: Input) -> pa.Schema:
    """The schema of the used columns; ``SourceError`` for one with several values a row."""
    check_flat(schema, used, source.name)
    return pa.schema([schema.field(name) for name in used])


def _check_footer(facts: pq.FileMetaData, used: list[str], source: Input, reading: Reading) -> None:
    """Refuse a file whose footer exceeds a limit; the rows that are read are counted as well."""
    if facts.num_rows > reading.limits.rows:
        reading.count(source.name, facts.num_rows, 0)
    for group in range(facts.num_row_groups):
        columns = facts.row_group(group)
        if columns.total_byte_size <= reading.limits.table:
            continue  # in a damaged file, Arrow ends the process where facts of a column are asked for
        for number in range(columns.num_columns):
            column = columns.column(number)
            if column.path_in_schema in used and column.total_uncompressed_size > reading.limits.table:
                reading.count(source.name, 0, column.total_uncompressed_size)


def _plain_size(column: pa.Array, source: Input) -> int:
    """Bytes of a column without its dictionary; ``SourceError`` if a text is too long."""
    if not (pa.types.is_dictionary(column.type) and _is_of_bytes(column.type.value_type)):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary)
    longest = pc.max(lengths).as_py() or 0
    if longest > MAX_TEXT:
        rule = f"a text of {byte_count(longest)}, at most {byte_count(MAX_TEXT)} are allowed"
        raise SourceError(rule, source.name)
    return 4 * len(column) + int(pc.sum(lengths.take(column.indices)).as_py() or 0)


def _plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the types of the file."""
    columns = [
        column.dictionary_decode().cast(field.type) if column.type != field.type else column
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _is_of_bytes(kind: pa.DataType) -> bool:
    return bool(is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
