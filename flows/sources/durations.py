"""Durations of contests and games, from which their precisions follow: the duration in units of one of precision 1."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .base import SourceError
from .columns import Bools, as_numbers, decoded


def check_duration(column: str, unit: int | None) -> None:
    """Raise ``ValueError`` for a column of durations without a unit, or the reverse."""
    if column and unit is None:
        rule = f"--column duration={column} needs a unit"
        raise ValueError(f"{rule}; give the duration of precision 1 with --duration-unit, as 2h")
    if unit is not None and not column:
        rule = f"--duration-unit {unit}s needs durations"
        raise ValueError(f"{rule}; name their column with --column duration=...")


def check_one_of_both(keys: Container[str], source: str) -> None:
    """Raise ``SourceError`` if there are columns of durations and of precisions."""
    if "duration" in keys and "precision" in keys:
        rule = "durations and precisions exclude each other: a precision is a duration in units"
        raise SourceError(f"{rule}; --column precision= leaves the precisions out", source)


def as_precisions(column: pa.ChunkedArray, unit: int, source: str) -> tuple[npt.NDArray[np.float64], Bools]:
    """Durations, in seconds or Arrow's, in units of ``unit`` seconds; and a mask of the rows without a number."""
    column = decoded(column)
    if pa.types.is_duration(column.type):
        column = column.cast(pa.duration("ns")).cast(pa.int64())
        unit *= 10**9
    numbers: npt.NDArray[Any]
    numbers, missing = as_numbers(column, "duration", source)
    return numbers / unit, missing
