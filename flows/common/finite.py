"""Numbers for other programs: where there is no finite number, tables have null, and JSON has null too.

Infinity and NaN are no JSON, and readers of CSV differ about their spelling. A number that is undefined (the
performance in a system that has none, the score of a round without pairs) is absent instead. Hyperparameters that may
be infinite are the exception: ``run.json`` and the API spell them "inf", as ``--set`` takes them.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["finite_json", "finite_rows"]

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)


def finite_json(value: Any) -> Any:
    """The value with null for every number that is infinite or NaN, in lists and dictionaries, too."""
    if isinstance(value, dict):
        return {key: finite_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def finite_rows(rows: Rows) -> Rows:
    """The rows with null for every number that is infinite or NaN; without such numbers the rows as they are."""
    for i, field in enumerate(rows.schema):
        column = rows.column(i)
        if pa.types.is_floating(field.type):
            finite = pc.is_finite(column)
            if pc.all(finite).as_py() is False:  # nulls do not count
                rows = rows.set_column(i, field.with_nullable(True), pc.if_else(finite, column, None))
    return rows
