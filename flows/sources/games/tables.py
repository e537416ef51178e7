"""Games in Parquet, Delta and CSV tables, one row a game, read batch by batch."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ranklake.rating_kernels.core.standings import Floats

from ...common.text import quoted
from ..base import OnError, SourceError
from ..columns import Bools, Longs, as_flags, as_numbers, decoded, is_blank, is_text
from ..files.inputs import Input
from ..files.parquet_tables import open_parquet
from ..lake_tables import DeltaRows
from ..limits import MAX_HANDLE
from ..time_columns import as_seconds
from .advantages import check_single, judge_advantages
from .batch import LONG_NAME, SCHEMA, GamesReport, Verdicts, check_games
from .columns import find_columns
from .csv_tables import CsvGames, Rows
from .dates import NO_DATE, iso_or_null
from .scores import judge_results

_BATCH_ROWS = 2**18
_CLOCK = "a clock must be a time of day such as 13:45:10"


class _Columns(NamedTuple):
    """Rows of a table by key, and what is known of the rows."""

    columns: dict[str, pa.ChunkedArray]
    rows: Rows


def read_table(
    source: Input,
    chosen: Mapping[str, str],
    report: GamesReport,
    *,
    on_error: OnError = "stop",
    time_format: str = "auto",
    delimiter: str | None = None,
    encoding: str = "utf-8",
    advantage: float | None = None,
) -> Iterator[pa.Table]:
    """Batches of games with the columns of :data:`.batch.SCHEMA`.

    The first batch determines the format of times. An ``advantage`` excludes a column of advantages.

    Raises SourceError: a column is missing, or, unless ``on_error`` is ``skip``, a value is invalid; names the row.
    """
    if source.form in ("parquet", "delta"):
        batches = _stored(source, chosen)
    else:
        batches = _csv(CsvGames(source, report, on_error, delimiter, encoding), chosen)
    form = time_format
    for columns, rows in batches:
        check_single(advantage, columns, source.name)
        _check_sides(advantage, columns, source.name)
        verdicts = Verdicts(rows.n, report, rows.error, on_error)
        for broken, rule in rows.faults:
            verdicts.refuse_first(broken, rule)
        time_seconds, form = _times(columns, verdicts, source.name, form)
        games = pa.Table.from_arrays(
            [
                *_players(columns, verdicts, source.name),
                pa.array(_scores(columns, verdicts, source.name)),
                pa.array(time_seconds),
                pa.array(_weights(columns, rows.n, source.name)),
            ],
            schema=SCHEMA,
        )
        if "advantage" in columns:
            advantages = judge_advantages(columns["advantage"], source.name, verdicts)
            games = games.append_column("advantage", pa.array(advantages))
        check_games(games, verdicts)
        yield verdicts.close(games)


def _stored(source: Input, chosen: Mapping[str, str]) -> Iterator[_Columns]:
    """Columns of a Parquet file or of a Delta table."""
    if source.form == "delta":
        rows = DeltaRows(source.path, source.name)
        columns, used = _find(rows.schema.names, chosen, source)
        batches = rows.batches(used)
    else:
        with open_parquet(source.path, source.name) as file:
            schema = file.schema_arrow
        columns, used = _find(schema.names, chosen, source)
        batches = _parquet(source, schema, used)
    n = 0
    for batch in batches:
        rows_of_batch = Rows(source.name, np.arange(n + 1, n + 1 + batch.num_rows))
        yield _Columns(_by_key(batch, columns, source), rows_of_batch)
        n += batch.num_rows


def _parquet(source: Input, schema: pa.Schema, used: list[str]) -> Iterator[pa.RecordBatch]:
    texts = [name for name in used if is_text(schema.field(name).type)]
    with open_parquet(source.path, source.name, texts) as file:
        for groups in _row_groups(file.metadata):
            yield from file.iter_batches(_BATCH_ROWS, row_groups=groups, columns=used)


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


def _csv(text: CsvGames, chosen: Mapping[str, str]) -> Iterator[_Columns]:
    columns, used = _find(text.names(), chosen, text.source)
    for batch, rows in text.batches(used):
        yield _Columns(_by_key(batch, columns, text.source), rows)


def _find(present: Sequence[str], chosen: Mapping[str, str], source: Input) -> tuple[dict[str, str], list[str]]:
    """The columns to use by key, in the file or in the names of its folders, and the used ones in the file."""
    others = [name for name in source.folder_values if name not in present]
    columns = find_columns([*present, *others], chosen, source.name)
    source.check_folders(list(columns.values()), present)
    return columns, sorted(set(columns.values()) - set(others))


def _by_key(batch: pa.RecordBatch, columns: Mapping[str, str], source: Input) -> dict[str, pa.ChunkedArray]:
    there = batch.schema.names
    found = {
        key: batch.column(name) if name in there else source.folder_column(name, batch.num_rows)
        for key, name in columns.items()
    }
    return {key: pa.chunked_array([column]) for key, column in found.items()}


def _players(columns: Mapping[str, pa.ChunkedArray], verdicts: Verdicts, source: str) -> list[pa.ChunkedArray]:
    keys: Sequence[str] = ("winner", "loser") if "winner" in columns else ("white", "black")
    return [_names(columns[key], verdicts, source) for key in keys]


def _names(column: pa.ChunkedArray, verdicts: Verdicts, source: str) -> pa.ChunkedArray:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise SourceError(f"names of players must be text or whole numbers, got {kind}", source)
    if pa.types.is_dictionary(column.type):
        for chunk in column.chunks:
            if is_text(kind) and (pc.max(pc.utf8_length(chunk.dictionary)).as_py() or 0) > MAX_HANDLE:
                raise SourceError(LONG_NAME, source)  # each row of it would be a copy
    return column.cast(pa.string())


def _scores(columns: Mapping[str, pa.ChunkedArray], verdicts: Verdicts, source: str) -> Floats:
    if "winner" not in columns:
        return judge_results(columns["result"], verdicts)
    if "draw" not in columns:
        return np.ones(len(columns["winner"]))
    flags, bad = as_flags(columns["draw"], "draw", source)
    if bad.any():
        verdicts.refuse(bad, f"draw must be true or false, got {_first(columns['draw'], bad)}")
    return np.where(flags & ~is_blank(columns["draw"]), 0.5, 1.0)


def _weights(columns: Mapping[str, pa.ChunkedArray], n: int, source: str) -> Floats:
    if "weight" not in columns:
        return np.ones(n)
    numbers, missing = as_numbers(columns["weight"], "weight", source)
    return np.where(missing, np.nan, numbers)


def _times(columns: Mapping[str, pa.ChunkedArray], verdicts: Verdicts, source: str, form: str) -> tuple[Longs, str]:
    """UTC seconds, and the format of times. Games without a full date are left out; an unknown clock is midnight."""
    column = decoded(columns["time"])
    if is_text(column.type) and form in ("auto", "iso"):
        column = iso_or_null(column.cast(pa.string()))
    known = ~is_blank(column)
    verdicts.leave_out(~known, NO_DATE)
    time_seconds: Longs = np.zeros(len(column), np.int64)
    at = np.flatnonzero(known)
    if not len(at):
        return time_seconds, form
    try:
        seconds = as_seconds(column.filter(pa.array(known)), "time", source, form)
    except SourceError as error:
        raise verdicts.error(error.rule, int(at[error.rows[0] - 1])) if error.rows else error from None
    for broken, rule in seconds.faults:
        verdicts.refuse(_scattered(broken, at, len(known)), rule)
    time_seconds[at] = seconds.seconds
    if "clock" in columns:
        time_seconds += _seconds_of_day(columns["clock"], verdicts, source)
    return time_seconds, seconds.form if form == "auto" else form


def _check_sides(advantage: float | None, columns: Collection[str], source: str) -> None:
    """Raise :class:`SourceError` for advantages of games whose first player is the winner."""
    if "winner" in columns and (advantage is not None or "advantage" in columns):
        remedy = "leave out --advantage" if advantage is not None else "leave out the column with --column advantage="
        raise SourceError(f"a table of winners and losers does not say who had the advantage; {remedy}", source)


def _first(column: pa.ChunkedArray, rows: Bools) -> str:
    """The first value of some rows, for messages."""
    return quoted(str(column[int(np.argmax(rows))].as_py()))


def _scattered(broken: Bools, at: Longs, n: int) -> Bools:
    found = np.zeros(n, bool)
    found[at] = broken
    return found


def _seconds_of_day(column: pa.ChunkedArray, verdicts: Verdicts, source: str) -> Longs:
    """Seconds since midnight of times such as 13:45:10."""
    column = decoded(column)
    unknown = is_blank(column)
    if is_text(column.type):
        unknown |= pc.match_substring(column, "?").fill_null(True).to_numpy()
        day = pc.binary_join_element_wise("1970-01-01", column.cast(pa.string()), " ")
        times = pc.strptime(day, "%Y-%m-%d %H:%M:%S", "s", error_is_null=True).cast(pa.time32("s"))
    elif pa.types.is_time(column.type):
        times = column.cast(pa.time64("ns")).cast(pa.time32("s"), safe=False)
    else:
        raise SourceError(f"the column clock must hold times of day such as 13:45:10, got {column.type}", source)
    broken = times.is_null().to_numpy() & ~unknown
    if broken.any():
        verdicts.refuse(broken, f"{_CLOCK}, got {_first(column, broken)}")
    seconds: Longs = times.cast(pa.int32()).fill_null(0).to_numpy().astype(np.int64)
    return seconds
