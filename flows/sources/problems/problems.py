"""The table of problems from a file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage.lake.schemas import PROBLEMS

from ...common.text import quoted
from ..columns import as_numbers, is_blank
from .tables import ColumnsOfFile, TableOptions, read_columns, tables_at

_TAGS = ";"  # between the tags of a problem in a text


def read_problems(path: str, options: TableOptions) -> pa.Table:
    """The problems of a file, columns as in ``schemas.PROBLEMS``.

    Raises SourceError: the file cannot be read, a problem is in it twice, or a value is invalid; names the row.
    """
    tables = [_problems(read_columns(source, options)) for source in tables_at([path], options.limits)]
    return pa.concat_tables(tables).combine_chunks()


def _problems(file: ColumnsOfFile) -> pa.Table:
    names = {key: _texts(file, key) for key in ("problem", "name", "url", "same_as")}
    if names["problem"].null_count:
        raise file.error("the problem is empty", names["problem"].is_null().to_numpy().argmax())
    first: dict[str, int] = {}
    for row, problem in enumerate(names["problem"].to_pylist()):
        if (before := first.setdefault(problem, row)) != row:
            raise file.error(f"problem {quoted(problem)} is in row {before + 1}, too", row)
    position, most = _numbers(file, "position"), _numbers(file, "max_score")
    if (bad := (most <= 0.0)).any():
        row = int(np.argmax(bad))
        raise file.error(f"max_score must be > 0, or empty, got {most[row]:g}", row)
    if (bad := (np.abs(position) > 2**31 - 1) | (position != np.floor(position)) & ~np.isnan(position)).any():
        row = int(np.argmax(bad))
        raise file.error(f"position must be a whole number, or empty, got {position[row]:g}", row)
    columns = {
        **names,
        "position": pa.array(position, from_pandas=True).cast(pa.int32()),
        "tags": _tags(file),
        "max_score": pa.array(most, from_pandas=True),
    }
    return pa.table([columns[name] for name in PROBLEMS.names], schema=PROBLEMS)


def _texts(file: ColumnsOfFile, key: str) -> pa.StringArray:
    """A column of texts, null where it is blank."""
    if key not in file.columns:
        return pa.nulls(file.n_rows, pa.string())
    column = file.names(key)
    texts: pa.StringArray = pc.if_else(pa.array(is_blank(column)), None, column.combine_chunks())
    return texts


def _numbers(file: ColumnsOfFile, key: str) -> np.ndarray:
    if key not in file.columns:
        return np.full(file.n_rows, np.nan)
    values, missing = as_numbers(file.columns[key], key, file.name)
    blank, numbers = is_blank(file.columns[key]), values.astype(np.float64)
    if (bad := (missing & ~blank) | ~np.isfinite(numbers)).any():
        row = int(np.argmax(bad))
        raise file.error(f"{key} must be a number, or empty, got {quoted(str(file.columns[key][row].as_py()))}", row)
    return np.where(blank, np.nan, numbers)


def _tags(file: ColumnsOfFile) -> pa.Array:
    """The tags of each problem, which are separated by semicolons in a text."""
    if "tags" not in file.columns:
        return pa.nulls(file.n_rows, pa.list_(pa.string()))
    column = file.columns["tags"]
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return column.combine_chunks().cast(pa.list_(pa.string()))
    values = [
        None if text is None else [tag for part in text.split(_TAGS) if (tag := part.strip())]
        for text in file.names("tags").to_pylist()
    ]
    return pa.array([tags or None for tags in values], pa.list_(pa.string()))
