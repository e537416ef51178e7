"""Games in Parquet, Delta, CSV and JSON tables, one row a game, read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from ranklake.rating_kernels.core.limits import PRECISION
from ranklake.rating_kernels.core.standings import Floats
from ranklake.storage.datasets.tables.covariates import column_of

from ...common.text import quoted
from ..base import IngestReport, SourceError
from ..columns import Bools, Longs, as_flags, as_numbers, decoded, is_blank, is_text
from ..durations import as_precisions
from ..files.inputs import Input
from ..files.json_tables import JsonTable
from ..files.parquet_tables import ParquetTable
from ..files.parts import Reading, row_in_file
from ..files.text_tables import TextTable
from ..lake_tables import DeltaRows
from ..limits import MAX_HANDLE
from ..options import ReadOptions
from ..time_columns import as_seconds
from .batch import LONG_NAME, OF_POINTS, SCHEMA, GamesReport, Verdicts, check_games
from .covariates import OF_COVARIATE, covariate_of
from .dates import NO_DATE, clocks_of, iso_or_null, without_fractions
from .importance import weights_by
from .keeping import OF_KEPT, kept_texts
from .options import GAME_ADVANTAGE, KEYS, GamesOptions
from .points import compare_points, read_points, scores_of
from .scores import judge_results

_BATCH_ROWS = 2**18
_CLOCK = "a clock must be a time of day such as 13:45:10"
_HEADERS = {name for names in KEYS.values() for name in names}


def read_table(source: Input, options: GamesOptions, report: GamesReport) -> Iterator[pa.Table]:
    """Batches of games with the columns of :data:`.batch.SCHEMA`.

    The first batch determines the format of times. Raises SourceError: a column is missing, or, unless faults are
    skipped, a value is invalid; names the row. Rows with another number of fields are then left out, too.
    """
    text, json = None, None
    if source.form == "delta":
        delta = DeltaRows(source.path, source.name)
        columns, used = source.find(delta.schema.names, options.find)
        batches = delta.batches(used)
    elif source.form == "parquet":
        stored = ParquetTable(source)
        columns, used = source.find(stored.schema.names, options.find)
        batches = stored.batches(used, _BATCH_ROWS)
    elif source.form in ("json", "jsonl"):
        json = _open_json(source, options, report)
        columns, used = source.find(json.names, options.find)
        batches = json.batches(used)
    else:
        skips = options.on_error == "skip"
        text = TextTable(source, options.encoding, options.delimiter, _HEADERS, skips=skips)
        columns, used = source.find(text.names, options.find)
        batches = text.batches(used, partial(_leave_out, report, source.name) if skips else None)
    form, before = options.time_format, 0
    for batch in batches:
        faults: dict[int, str] = {}
        batch = batch if text is None else text.valid(batch, 0, faults)
        if json is not None:
            faults = {row - before: rule for row, rule in json.faults.items() if row >= before}
        error = partial(_error, source.name, before, text or json)
        verdicts = Verdicts(len(batch), report, error, options.on_error)
        if faults:
            broken, rule = _mask(list(faults), len(batch)), next(iter(faults.values()))
            verdicts.refuse(broken, rule)
            if options.on_error == "skip":  # no other verdict counts for a row that cannot be read
                verdicts.leave_out(broken, rule)
        games, form = _games(_by_key(batch, columns, source), options, verdicts, source.name, form)
        check_games(games, verdicts)
        if OF_POINTS[0] in columns:
            known = ~np.isnan(games.column("points").to_numpy() + games.column("opponent_points").to_numpy())
            verdicts.note(known, "with points, from " + " and ".join(quoted(columns[key]) for key in OF_POINTS))
        yield verdicts.close(games)
        before += len(batch)


def _leave_out(report: GamesReport, source: str, row: pacsv.InvalidRow, number: int) -> None:
    rule = f"with another number of fields than the header's {row.expected_columns}"
    report.leave_out(rule, 1, f"{source}, row {number}")


def _open_json(source: Input, options: GamesOptions, report: GamesReport) -> JsonTable:
    """A table in JSON; lines that are no objects are an error, or left out."""
    reading = ReadOptions(encoding=options.encoding, limits=options.limits, on_error=options.on_error)
    read = IngestReport()
    table = JsonTable(source, Reading(reading, read))
    for one in read.left_out:
        where, _, rule = one.reason.partition(": ")
        report.leave_out(rule, 1, where)
    if not table.names:
        raise SourceError("the file has no rows", source.name)
    return table


def _error(source: str, before: int, text: TextTable | JsonTable | None, rule: str, row: int) -> SourceError:
    """The error of a row, counted from 0, of a batch with rows ``before`` it."""
    rows = [row_in_file(before + row + 1, text.left_out if isinstance(text, TextTable) else ())]
    return SourceError(rule, source, rows=rows, lines=text.lines(rows) if text else ())


def _games(
    columns: dict[str, pa.ChunkedArray], options: GamesOptions, verdicts: Verdicts, source: str, form: str
) -> tuple[pa.Table, str]:
    """The games of a batch of columns by key, and the format of times."""
    n = len(verdicts.kept)
    time_seconds, form = _times(columns, verdicts, source, form)
    keys = ("winner", "loser") if "winner" in columns else ("white", "black")
    names = [_names(columns[key], source) for key in keys]
    points = read_points(columns, options, verdicts, source) if "points" in columns else None
    told = {"result", "winner"} & columns.keys()
    score = _scores(columns, options, verdicts, source) if told or not points else scores_of(points, verdicts)
    if points:
        compare_points(points, score, options, verdicts)
    if options.importance is not None:
        weight = weights_by(options.importance, columns["importance"], verdicts)
        verdicts.note(~np.isnan(weight), "with K by importance as weight: rate with `--system elo --set k=1`")
    else:
        weight = _weights(columns, n, source)
    numbers = score, time_seconds, weight
    games = pa.Table.from_arrays([*names, *map(pa.array, numbers)], schema=SCHEMA)
    for key, values in zip(OF_POINTS, points or (), strict=False):
        games = games.append_column(key, pa.array(values))
    if {"precision", "duration"} & columns.keys():
        games = games.append_column("precision", pa.array(_precisions(columns, options, verdicts, source)))
    if "advantage" in columns:
        advantages = _advantages(columns["advantage"], verdicts, source)
        games = games.append_column("advantage", pa.array(advantages))
    if kept := _named(columns, OF_KEPT):
        games = games.append_column("kept", kept_texts(kept, verdicts))
    for name, column in _named(columns, OF_COVARIATE).items():
        values = covariate_of(name, column, options.covariate_null, verdicts, source)
        games = games.append_column(column_of(name), pa.array(values))
    return games, form


def _named(columns: Mapping[str, pa.ChunkedArray], before: str) -> dict[str, pa.ChunkedArray]:
    """The columns whose keys have a prefix, without it."""
    return {key.removeprefix(before): column for key, column in columns.items() if key.startswith(before)}


def _by_key(batch: pa.RecordBatch, columns: Mapping[str, str], source: Input) -> dict[str, pa.ChunkedArray]:
    there = batch.schema.names
    found = {
        key: batch.column(name) if name in there else source.folder_column(name, batch.num_rows)
        for key, name in columns.items()
    }
    return {key: pa.chunked_array([column]) for key, column in found.items()}


def _names(column: pa.ChunkedArray, source: str) -> pa.ChunkedArray:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise SourceError(f"names of players must be text or whole numbers, got {kind}", source)
    if pa.types.is_dictionary(column.type):
        for chunk in column.chunks:
            if is_text(kind) and (pc.max(pc.utf8_length(chunk.dictionary)).as_py() or 0) > MAX_HANDLE:
                raise SourceError(LONG_NAME, source)  # each row of it would be a copy
    return column.cast(pa.string())


def _scores(columns: Mapping[str, pa.ChunkedArray], options: GamesOptions, verdicts: Verdicts, source: str) -> Floats:
    if "winner" not in columns:
        return judge_results(columns["result"], verdicts, options.fractional, options.values)
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


def _precisions(
    columns: Mapping[str, pa.ChunkedArray], options: GamesOptions, verdicts: Verdicts, source: str
) -> Floats:
    """The precision of each game, or its duration in units; 1 where the column is null or blank."""
    key, rule = "precision", f"a precision must be {PRECISION.rule}, or empty for 1"
    if "duration" in columns and options.duration_unit is not None:
        unit, key = options.duration_unit, "duration"
        numbers, missing = as_precisions(columns[key], unit, source)
        rule = f"a duration must be a number of seconds, {PRECISION.rule} units of {unit} s, or empty for one unit"
    else:
        numbers, missing = as_numbers(columns[key], key, source)
    blank = is_blank(columns[key])
    precision: Floats = np.where(blank, 1.0, numbers)
    bad = (missing & ~blank) | ~PRECISION.mask(precision)
    if bad.any():
        verdicts.refuse(bad, f"{rule}, got {_first(columns[key], bad)}")
    return precision


def _advantages(column: pa.ChunkedArray, verdicts: Verdicts, source: str) -> Floats:
    """Rating points in favour of the first player of each game; 0 where the column is null or blank."""
    numbers, missing = as_numbers(column, "advantage", source)
    blank = is_blank(column)
    advantage: Floats = np.where(blank, 0.0, numbers)
    bad = (missing & ~blank) | ~GAME_ADVANTAGE.mask(advantage)
    if bad.any():
        rule = f"an advantage must be a number {GAME_ADVANTAGE.rule}, or empty for none"
        remedy = "correct it, or leave out the column with --column advantage="
        verdicts.refuse(bad, f"{rule}, got {_first(column, bad)}; {remedy}")
    return advantage


def _times(columns: Mapping[str, pa.ChunkedArray], verdicts: Verdicts, source: str, form: str) -> tuple[Longs, str]:
    """UTC seconds, and the format of times. Games without a full date are left out; an unknown clock is midnight."""
    column = decoded(columns["time"])
    if "%" not in form and form != "iso":
        column = without_fractions(column)
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
        verdicts.refuse(_mask(at[broken].tolist(), len(known)), rule)
    time_seconds[at] = seconds.seconds
    if "clock" in columns:
        time_seconds += _seconds_of_day(columns["clock"], verdicts, source)
    return time_seconds, seconds.form if form == "auto" else form


def _first(column: pa.ChunkedArray, rows: Bools) -> str:
    """The first value of some rows, for messages."""
    return quoted(str(column[int(np.argmax(rows))].as_py()))


def _mask(rows: list[int], n: int) -> Bools:
    found = np.zeros(n, bool)
    found[rows] = True
    return found


def _seconds_of_day(column: pa.ChunkedArray, verdicts: Verdicts, source: str) -> Longs:
    """Seconds since midnight of times such as 13:45:10."""
    column = decoded(column)
    unknown = is_blank(column)
    if is_text(column.type):
        unknown |= pc.match_substring(column, "?").fill_null(True).to_numpy()
        times = clocks_of(column.cast(pa.string()))
    elif pa.types.is_time(column.type):
        times = column.cast(pa.time64("ns")).cast(pa.time32("s"), safe=False).cast(pa.int32())
    else:
        raise SourceError(f"the column clock must hold times of day such as 13:45:10, got {column.type}", source)
    broken = times.is_null().to_numpy() & ~unknown
    if broken.any():
        verdicts.refuse(broken, f"{_CLOCK}, got {_first(column, broken)}")
    seconds: Longs = times.fill_null(0).to_numpy().astype(np.int64)
    return seconds
