"""Numbers for other programs: tables and JSON have null for a number that is not finite.

JSON has no infinity and no NaN, and programs write them differently in CSV. Hyperparameters are an exception: an
infinite one is "inf", as for ``--set``.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)


def finite_json(value: Any) -> Any:
    """The value with None for every infinite number and NaN, also inside lists and dictionaries."""
    if isinstance(value, dict):
        return {key: finite_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def finite_rows(rows: Rows) -> Rows:
    """The rows with null for every infinite number and NaN; the same object if there is none."""
    for i, field in enumerate(rows.schema):
        column = rows.column(i)
        if pa.types.is_floating(field.type):
            finite = pc.is_finite(column)
            if pc.all(finite).as_py() is False:  # nulls do not count
                rows = rows.set_column(i, field.with_nullable(True), pc.if_else(finite, column, None))
    return rows
