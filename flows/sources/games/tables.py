"""Games in Parquet and CSV tables, one row a game, read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from ...common.text import quoted
from ..base import SourceError
from ..columns import Longs, as_numbers, is_text
from ..files.inputs import Input
from ..limits import MAX_HANDLE
from ..time_columns import as_seconds
from .advantages import advantages_of, check_single
from .batch import LONG_NAME, SCHEMA, check_games
from .scores import scores_of
from .text import BLOCK_BYTES, faults_of_text

__all__ = ["KEYS", "find_columns", "parse_columns", "read_table"]

KEYS = {
    "white": ("white", "player", "player1"),
    "black": ("black", "opponent", "player2"),
    "result": ("result", "score"),
    "time": ("time_seconds", "time", "timestamp", "utcdate", "date"),
    "clock": ("utctime",),
    "weight": ("weight",),
    "advantage": ("advantage",),
}
"""The meaning of columns, and the names by which they are found, in any case of the letters."""

_NEEDED = ("white", "black", "result", "time")
_BATCH_ROWS = 2**18


def parse_columns(settings: Sequence[str]) -> dict[str, str]:
    """Names of columns from settings such as ``white=White``.

    Raises
    ------
    ValueError
        A setting has another form, an unknown key, or a key twice.
    """
    chosen: dict[str, str] = {}
    for setting in settings:
        key, equals, column = setting.partition("=")
        if not equals or key not in KEYS or key in chosen:
            rule = f"expected KEY=COLUMN, as white=White, with KEY one of {', '.join(KEYS)}, each once"
            raise ValueError(f"column {setting!r}: {rule}")
        chosen[key] = column
    return chosen


def find_columns(present: Sequence[str], chosen: Mapping[str, str], source: str) -> dict[str, str]:
    """The column of each key: the chosen one, or one of the usual names. ``KEY=`` uses no column.

    Raises
    ------
    SourceError
        A column is missing, or exists twice; names those that exist.
    """
    folded = {name.lower(): name for name in reversed(present)}
    found = {key: next((folded[name] for name in names if name in folded), "") for key, names in KEYS.items()}
    if chosen.get("time", found["time"]).lower() != "utcdate":
        found["clock"] = ""
    found |= chosen
    for key, column in found.items():
        if (column or key in _NEEDED) and column not in present:
            have = ", ".join(map(quoted, present[:20]))
            what = f"has no column {quoted(column)} for {key}" if column else f"needs a column for {key}"
            raise SourceError(f"{what}; it has {have}; name the column with --column {key}=...", source)
        if present.count(column) > 1:
            raise SourceError(f"there are two columns {quoted(column)}", source)
    return {key: column for key, column in found.items() if column}


def read_table(
    source: Input,
    chosen: Mapping[str, str],
    time_format: str = "auto",
    delimiter: str | None = None,
    advantage: float | None = None,
) -> Iterator[pa.Table]:
    """Batches of games with the columns of :data:`.batch.SCHEMA`, unfinished games included.

    The first batch determines the format of times. An ``advantage`` excludes a column of advantages.

    Raises
    ------
    SourceError
        A column is missing, or a value is invalid; names the row.
    """
    batches = _parquet(source, chosen) if source.form == "parquet" else _csv(source, chosen, delimiter)
    row, form = 1, time_format
    for columns in batches:
        check_single(advantage, columns, source.name)
        seconds = as_seconds(columns["time"], "time", source.name, form)
        form = seconds.form if form == "auto" else form
        for broken, rule in seconds.faults:
            if broken.any():
                raise SourceError(rule, source.name, rows=[row + int(np.argmax(broken))])
        time_seconds, n = seconds.seconds, len(columns["time"])
        if "clock" in columns:
            time_seconds = time_seconds + _seconds_of_day(columns["clock"], source.name, row)
        weight = np.ones(n)
        if "weight" in columns:
            numbers, missing = as_numbers(columns["weight"], "weight", source.name)
            weight = np.where(missing, np.nan, numbers)
        arrays = [
            *(_names(columns[key], source.name) for key in ("white", "black")),
            pa.array(scores_of(columns["result"], source.name, row)),
            pa.array(time_seconds),
            pa.array(weight),
        ]
        games = check_games(pa.Table.from_arrays(arrays, schema=SCHEMA), source.name, np.arange(row, row + n))
        if "advantage" in columns:
            games = games.append_column("advantage", pa.array(advantages_of(columns["advantage"], source.name, row)))
        yield games
        row += n


def _parquet(source: Input, chosen: Mapping[str, str]) -> Iterator[dict[str, pa.ChunkedArray]]:
    with pq.ParquetFile(source.path) as file:
        schema = file.schema_arrow
    columns = find_columns(schema.names, chosen, source.name)
    # Texts stay dictionary-encoded, as in the file: as plain text a few bytes may become gigabytes.
    texts = [name for name in columns.values() if is_text(schema.field(name).type)]
    used = sorted(set(columns.values()))
    with pq.ParquetFile(source.path, read_dictionary=texts) as file:
        for groups in _row_groups(file.metadata):
            for batch in file.iter_batches(_BATCH_ROWS, row_groups=groups, columns=used):
                yield {key: pa.chunked_array([batch.column(name)]) for key, name in columns.items()}


def _row_groups(facts: pq.FileMetaData) -> Iterator[list[int]]:
    """Consecutive row groups that fill a batch: Arrow keeps the bytes of all requested ones until the last is read."""
    groups, n = [], 0
    for group in range(facts.num_row_groups):
        groups.append(group)
        n += facts.row_group(group).num_rows
        if n >= _BATCH_ROWS:
            yield groups
            groups, n = [], 0
    if groups:
        yield groups


def _csv(source: Input, chosen: Mapping[str, str], delimiter: str | None) -> Iterator[dict[str, pa.ChunkedArray]]:
    read = pacsv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False)
    parse = pacsv.ParseOptions(delimiter=delimiter or ("\t" if source.form == "tsv" else ","))
    with faults_of_text(source), pacsv.open_csv(source.open_bytes(), read, parse) as head:
        present = head.schema.names
    columns = find_columns(present, chosen, source.name)
    used = sorted(set(columns.values()))
    convert = pacsv.ConvertOptions(include_columns=used, column_types=dict.fromkeys(used, pa.string()))
    with faults_of_text(source), pacsv.open_csv(source.open_bytes(), read, parse, convert) as reader:
        for batch in reader:
            if batch.num_rows:
                yield {key: pa.chunked_array([batch.column(name)]) for key, name in columns.items()}


def _names(column: pa.ChunkedArray, source: str) -> pa.ChunkedArray:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_dictionary(column.type):
        for chunk in column.chunks:
            if (pc.max(pc.utf8_length(chunk.dictionary)).as_py() or 0) > MAX_HANDLE:
                raise SourceError(LONG_NAME, source)
    if not (is_text(kind) or pa.types.is_integer(kind)):
        raise SourceError(f"names of players must be text or whole numbers, got {kind}", source)
    return column.cast(pa.string())


def _seconds_of_day(column: pa.ChunkedArray, source: str, first_row: int) -> Longs:
    """Seconds since midnight of times such as 13:45:10."""
    if is_text(column.type):
        day = pc.binary_join_element_wise("1970-01-01", column, " ")
        times = pc.strptime(day, "%Y-%m-%d %H:%M:%S", "s", error_is_null=True).cast(pa.time32("s"))
    elif pa.types.is_time(column.type):
        times = column.cast(pa.time64("ns")).cast(pa.time32("s"), safe=False)
    else:
        raise SourceError(f"the column clock must hold times of day such as 13:45:10, got {column.type}", source)
    broken = times.is_null().to_numpy()
    if broken.any():
        rule = "a clock must be a time of day such as 13:45:10"
        raise SourceError(rule, source, rows=[first_row + int(np.argmax(broken))])
    seconds: Longs = times.cast(pa.int32()).to_numpy().astype(np.int64)
    return seconds
