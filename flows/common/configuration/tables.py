"""Hyperparameters that are tables: their numbers row by row, from CSV files, frames and arrays."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..text import quoted

MAX_TABLE_BYTES = 2**22  # far more than the points of any curve

_OF_NUMBERS = set("0123456789+-.eE, ")


def numbers_of(name: str, value: Any, columns: Sequence[str]) -> Any:
    """The numbers of a table row by row: of the path of a CSV file, or a frame or mapping with these columns, or an
    array with a row for each of its rows. Any other value is returned as it is.

    ``ValueError`` names the hyperparameter ``name``, the file and its line.
    """
    if isinstance(value, Path) or (isinstance(value, str) and not set(value) <= _OF_NUMBERS):
        return _of_file(name, Path(value), columns)
    if hasattr(value, "keys"):
        have = [str(key) for key in value.keys()]  # noqa: SIM118  # of a frame, too
        if missing := [column for column in columns if column not in have]:
            raise ValueError(_missing(name, missing[0], have, columns))
        return np.stack([np.asarray(value[column], np.float64) for column in columns], axis=1).ravel().tolist()
    return np.ravel(value).tolist() if isinstance(value, np.ndarray | list | tuple) else value


def _of_file(name: str, path: Path, columns: Sequence[str]) -> list[float]:
    where = f"{name}: file {str(path)!r}"
    try:
        if (size := path.stat().st_size) > MAX_TABLE_BYTES:
            raise ValueError(f"{where} has {size:,} bytes, more than {MAX_TABLE_BYTES:,}")
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise ValueError(f"{where} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{where} is not UTF-8; save it as CSV in UTF-8") from None
    head = lines[0] if lines else ""
    delimiter = max(",;\t", key=head.count)
    have = [cell.strip().lower() for cell in head.split(delimiter)]
    if missing := [column for column in columns if column not in have]:
        raise ValueError(_missing(where, missing[0], have, columns))
    at, found = [have.index(column) for column in columns], list[float]()
    for number, cells in enumerate(csv.reader(lines[1:], delimiter=delimiter), 2):
        for column, place in zip(columns, at, strict=True) if cells else ():
            text = cells[place].strip() if place < len(cells) else ""
            try:
                found.append(float(text))
            except ValueError:
                raise ValueError(f"{where}, line {number}: {column} must be a number, got {quoted(text)}") from None
    return found


def _missing(where: str, column: str, have: Sequence[str], columns: Sequence[str]) -> str:
    return f"{where} has no column {column}; it has {', '.join(map(quoted, have))} and needs {' and '.join(columns)}"
