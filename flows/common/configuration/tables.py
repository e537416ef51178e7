"""Hyperparameters that are tables: their numbers row by row, from CSV files, frames and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..small_tables import check_columns, read_columns, read_number

_OF_NUMBERS = set("0123456789+-.eE, ")


def numbers_of(name: str, value: Any, columns: Sequence[str]) -> Any:
    """The numbers of a table row by row: of the path of a CSV file, or a frame or mapping with these columns, or an
    array with a row for each of its rows. Any other value is returned as it is.

    ``ValueError`` names the hyperparameter ``name``, the file and its line.
    """
    if isinstance(value, Path) or (isinstance(value, str) and not set(value) <= _OF_NUMBERS):
        rows = read_columns(name, Path(value), columns)
        return [read_number(where, *cell) for where, cells in rows for cell in zip(columns, cells, strict=True)]
    if hasattr(value, "keys"):
        check_columns(name, [str(key) for key in value.keys()], columns)  # noqa: SIM118  # of a frame, too
        return np.stack([np.asarray(value[column], np.float64) for column in columns], axis=1).ravel().tolist()
    return np.ravel(value).tolist() if isinstance(value, np.ndarray | list | tuple) else value
