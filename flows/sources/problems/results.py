"""Results of problems from tables: the checked rows of all files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.text import quoted
from ..base import SourceError
from ..columns import Bools, as_flags, as_numbers, is_blank
from ..limits import MAX_HANDLE, are_short, check_length
from .rows import Floats, ResultRows, RowsBuilder
from .tables import ColumnsOfFile, TableOptions, column_parts, tables_at

_WHOLE = 2**31 - 1  # the largest number of attempts that a file of results holds
_NAMED = ("contest", "player", "problem")


def read_results(paths: Sequence[str], options: TableOptions, problems: pa.Table) -> ResultRows:
    """The results in files; ``problems`` may have the maximum scores of problems.

    Raises SourceError: a file cannot be read or a value is invalid; names file and row.
    """
    most = dict(zip(*(problems.column(name).to_pylist() for name in ("problem", "max_score")), strict=True))
    builder, last, ends = RowsBuilder(), list[ColumnsOfFile](), list[int]()
    for source in tables_at(paths, options.limits):
        for part in column_parts(source, options):
            _add(builder, part, most)
            last.append(part)
            ends.append((ends[-1] if ends else 0) + part.n_rows)
            part.columns = {}  # the numbers stay

    def error_at(rule: str, row: int) -> SourceError:
        number = int(np.searchsorted(ends, row, side="right"))
        contest = rows.contest.names[int(rows.contest.codes[row])].as_py()
        return last[number].error(rule, row - (ends[number] - last[number].n_rows), contest)

    rows = builder.rows(error_at)
    return rows


def _add(builder: RowsBuilder, file: ColumnsOfFile, most: dict[str, float | None]) -> None:
    """Add some rows of a file."""
    names = {key: _names(file, key) for key in _NAMED}
    share = _solved(file) if "solved" in file.columns else _of_scores(file, names["problem"], most)
    after = _numbers(file, "time", "a time must be seconds from the start of the contest, 0 or more, or empty")
    attempts = _numbers(file, "attempts", "attempts must be a whole number from 0 on, or empty", whole=True)
    counts = np.where(np.isnan(attempts), -1.0, attempts).astype(np.int32)
    builder.add([names[key] for key in _NAMED], share, after, counts)


def _names(file: ColumnsOfFile, key: str) -> pa.DictionaryArray:
    column = file.names(key)
    encoded = column.combine_chunks().dictionary_encode()
    blank = is_blank(column)
    if blank.any():
        raise file.error(f"the {key} is empty", int(np.argmax(blank)))
    if not are_short(encoded.dictionary):
        for code, name in enumerate(encoded.dictionary.to_pylist()):
            if rule := check_length(key, name, MAX_HANDLE):
                raise file.error(rule, int(np.argmax(encoded.indices.to_numpy() == code)))
    return encoded


def _solved(file: ColumnsOfFile) -> Floats:
    column = file.columns["solved"]
    flags, bad = as_flags(column, "solved", file.name)
    bad = bad | is_blank(column)
    if bad.any():
        raise file.error(f"solved must be true or false, got {_value(column, bad)}", int(np.argmax(bad)))
    return flags.astype(np.float64)


def _of_scores(file: ColumnsOfFile, problem: pa.DictionaryArray, most: dict[str, float | None]) -> Floats:
    """Scores as shares of the maximum scores of the column, or else of the table of problems."""
    score = _numbers(file, "score", "a score must be a number from 0 on", needed=True)
    of_problem = np.array([most.get(name) or np.nan for name in problem.dictionary.to_pylist()])
    largest = of_problem[problem.indices.to_numpy()] if len(of_problem) else np.empty(0)
    if "max_score" in file.columns:
        own = _numbers(file, "max_score", "a max_score must be > 0", positive=True)
        largest = np.where(np.isnan(own), largest, own)
    if (unknown := np.isnan(largest)).any():
        row = int(np.argmax(unknown))
        rule = f"the maximum score of problem {quoted(problem[row].as_py())} is unknown"
        raise file.error(f"{rule}; give it in a column max_score, here or in the table of --problems", row)
    if (above := score > largest).any():
        row = int(np.argmax(above))
        raise file.error(f"a score must be at most the max_score {largest[row]:g}, got {score[row]:g}", row)
    return score / largest


def _numbers(
    file: ColumnsOfFile, key: str, rule: str, whole: bool = False, needed: bool = False, positive: bool = False
) -> Floats:
    """The numbers of a column, NaN where it is blank; all are unknown without the column."""
    if key not in file.columns:
        return np.full(file.n_rows, np.nan)
    column = file.columns[key]
    values, missing = as_numbers(column, key, file.name)
    numbers, blank = values.astype(np.float64), is_blank(column)
    bad: Bools = (missing & ~blank) | ~np.isfinite(numbers) | (numbers < 0.0)
    bad = bad | (blank if needed else np.zeros(len(blank), np.bool_))
    if whole:
        bad = bad | (numbers != np.floor(numbers)) | (numbers > _WHOLE)
    if positive:
        bad = bad | ((numbers <= 0.0) & ~blank)
    if bad.any():
        raise file.error(f"{rule}, got {_value(column, bad)}", int(np.argmax(bad)))
    return np.where(blank, np.nan, numbers)


def _value(column: pa.ChunkedArray, rows: Bools) -> str:
    """The first value of some rows, for messages."""
    return quoted(str(pc.cast(column, pa.string())[int(np.argmax(rows))].as_py() or ""))
