"""Tables to Parquet bytes and back, in memory: every file is written by one atomic write of its bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .remedies import damaged
from .schemas import EVENTS_FORMAT, FORMAT_VERSION, OPTIONAL, SHARDED_FORMAT, TABLES, check_format, conform, open_fields

_PREFIX = "ranklake."
SHARDS = "shards"  # metadata of a table that is the rest beside these files
EVENTS = "events"  # metadata of a table of contests whose data set has this table of events

# Dictionaries cost more than they save in columns of distinct values, and so do statistics that no reader filters by.
# The rating waits while rounds are written: Snappy, which every reader supports, takes 0.3 ms for 3,500 rows, zstd
# 0.7 ms for 15 % less. Standings are written once and read often, and zstd halves their size.
_ZSTD: dict[str, Any] = {"compression": "zstd", "compression_level": 1}
_BY_CONTEST = {"write_statistics": ["contest_id"]}
_BY_ROUND = {"compression": "snappy", "use_dictionary": ["contest_id"], "write_statistics": ["round_index"]}
_OPTIONS: dict[str, dict[str, Any]] = {
    "contests": {**_ZSTD, "use_dictionary": ["file", "covariates"]},
    "standings": {**_ZSTD, **_BY_CONTEST, "use_dictionary": ["contest_id", "team", "share"]},
    "games": {
        **_ZSTD,
        **_BY_CONTEST,
        "use_dictionary": ["contest_id", "score", "weight", "advantage", "precision", "kept"],
    },
    "players": {**_ZSTD, "use_dictionary": False, "write_statistics": ["player"]},
    "attributes": {**_ZSTD, "use_dictionary": ["attribute", "value"]},
    "results": {**_ZSTD, **_BY_CONTEST, "use_dictionary": ["contest_id", "problem", "share", "attempts"]},
    "result_contests": {**_ZSTD, "use_dictionary": ["file"]},
    "problems": _ZSTD,
    "log": _ZSTD,
    "events": _ZSTD,
    "rounds": _BY_ROUND,
    "smoothed": _BY_ROUND,
    "entry": {**_ZSTD, **_BY_CONTEST, "use_dictionary": ["contest_id", "rating"]},
    "reset_players": {**_ZSTD, "use_dictionary": False},
    "checkpoint": {"compression": "none", "use_dictionary": False, "write_statistics": False},
}

# Below this many bytes a thread pool costs more than it gains, and rounds are read while workers rate.
_THREADS_FROM = 1 << 22


def encode(table: pa.Table, name: str, metadata: Mapping[str, str] | None = None) -> pa.Buffer:
    """Parquet bytes of ``table``, a table of kind ``name``, carrying the format version and ``metadata``."""
    table = conform(table, name)
    given = metadata or {}
    metadata = {"format": str(_format_of(given)), "table": name, **given}
    table = table.replace_schema_metadata({_PREFIX + key: value for key, value in metadata.items()})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, write_page_checksum=True, **_OPTIONS[name])
    return sink.getvalue()


def encode_plain(table: pa.Table, repeated: Sequence[str] = ()) -> pa.Buffer:
    """Parquet bytes of any table, without our metadata, for other programs; ``repeated`` are columns of few values."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **_ZSTD, use_dictionary=list(repeated))
    return sink.getvalue()


def arrow_buffer(data: bytes) -> pa.Buffer:
    """A copy of ``data`` in Arrow's memory, for readers with threads.

    A thread of Arrow may release its reader after the read has returned. Bytes of Python are released under the
    interpreter lock, and a thread that waits for that lock at the interpreter's end aborts the process.
    """
    buffer = pa.allocate_buffer(len(data))
    memoryview(buffer).cast("B")[:] = data
    return buffer


def decode(data: bytes, name: str, path: str, columns: Sequence[str] | None = None) -> pa.Table:
    """The table of kind ``name`` in ``data``, or some ``columns`` of it; ``x_*`` stands for all that begin with ``x_``.

    Raises FormatError: it is of another format.
    Raises DamagedError: ``data`` is no Parquet file or another table, or a column is missing; names ``path``.
    """
    try:
        threads = len(data) >= _THREADS_FROM
        source = pa.BufferReader(arrow_buffer(data) if threads else data)
        # Closing it would close nothing but the buffer, and costs a third of a small read.
        file = pq.ParquetFile(source, pre_buffer=False, page_checksum_verification=True)
        _check(file.schema_arrow, name, path)
        wanted = _wanted(name, columns, file.schema_arrow.names)
        table = file.read(columns=None if columns is None else wanted, use_threads=threads)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise damaged(path, f"not a readable Parquet file ({reason})") from error
    present = table.column_names
    for column in OPTIONAL.get(name, ()):
        if column in wanted and column not in present:
            field = TABLES[name].field(column)
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
            present.append(column)
    if absent := [column for column in wanted if column not in present]:
        raise damaged(path, f"has no column {', '.join(absent)}")
    return table if present == wanted else table.select(wanted)


def _wanted(name: str, columns: Sequence[str] | None, present: Sequence[str]) -> list[str]:
    """The columns to read of a file with those ``present``."""
    open_names = [field.name for field in open_fields(name, present)]
    if columns is None:
        return [*TABLES[name].names, *open_names]
    plain = [column for column in columns if not column.endswith("*")]
    return plain if len(plain) == len(columns) else [*plain, *open_names]


def metadata_of(schema: pa.Schema) -> dict[str, str]:
    """The metadata of our files: ``format``, ``table`` and the ``metadata`` given to ``encode``.

    Bytes that are no UTF-8, of a damaged file, are replaced: no key and no value of ours has such characters.
    """
    pairs = (
        (key.decode(errors="replace"), value.decode(errors="replace")) for key, value in (schema.metadata or {}).items()
    )
    return {key.removeprefix(_PREFIX): value for key, value in pairs if key.startswith(_PREFIX)}


def _check(schema: pa.Schema, name: str, path: str) -> None:
    metadata = metadata_of(schema)
    version = metadata.get("format", "none")
    check_format(int(version) if version.isdecimal() else version, path, reads=_format_of(metadata))
    if metadata.get("table") != name:
        raise damaged(path, f"holds {metadata.get('table')}, expected {name}")
    found = dict(zip(schema.names, schema.types, strict=True))
    expected_types = _types(name) | {field.name: field.type for field in open_fields(name, found)}
    for column, expected in expected_types.items():
        if column in found and found[column] != expected:
            raise damaged(path, f"column {column} is {found[column]}, expected {expected}")


def _format_of(metadata: Mapping[str, str]) -> int:
    """The format of a file with these metadata."""
    if EVENTS in metadata:
        return EVENTS_FORMAT
    return SHARDED_FORMAT if SHARDS in metadata else FORMAT_VERSION


@cache
def _types(name: str) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in TABLES[name]}
