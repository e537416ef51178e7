"""Columns of frames as Arrow, and Arrow as pandas: what one side does not have becomes a type that holds its values."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

import pandas as pd
import pyarrow as pa

from ..common.text import quoted
from ..sources.columns import plain_column


def arrow_as_pandas(table: pa.Table) -> pd.DataFrame:
    """A pandas frame with all columns. Nested ones, and those that pandas cannot hold, stay Arrow's."""

    def kept(kind: pa.DataType) -> pd.ArrowDtype | None:
        return pd.ArrowDtype(kind) if pa.types.is_nested(kind) else None

    try:
        frame: pd.DataFrame = table.to_pandas(types_mapper=kept)
    except (pa.ArrowException, ValueError, OverflowError):  # as for dates after the year 9999
        arrays: list[Any] = [pd.arrays.ArrowExtensionArray(column) for column in table.columns]
        if table.num_columns > 1:
            arrays = [arrow_as_pandas(table.select([i])).iloc[:, 0].array for i in range(table.num_columns)]
        frame = pd.DataFrame(dict(zip(table.column_names, arrays, strict=True)))
    return frame


def column_as_arrow(column: pd.Series[Any], name: str, mixed: bool = False) -> pa.ChunkedArray:
    """A column of a pandas frame as Arrow.

    ``mixed``: numbers beside text, as spreadsheets have them, become text.
    """
    if isinstance(column.dtype, pd.SparseDtype):
        column = pd.Series(column.to_numpy(), column.index)
    if mixed and pd.api.types.infer_dtype(column) in ("mixed", "mixed-integer"):
        column = column.where(column.isna(), column.map(str))
    try:
        array = pa.Array.from_pandas(column)
        return plain_column(array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array]))
    except (pa.ArrowException, TypeError, OverflowError):
        known = column.dropna().astype(object)
        labels, kinds = known.index.tolist(), [type(value).__name__ for value in known]
        other = next((i for i, kind in enumerate(kinds) if kind != kinds[0]), 0)
        values = [f"{quoted(known.iloc[i])} in row {labels[i]!r}" for i in sorted({0, other})]
        rule = "the values of a column must be all texts, all numbers or all dates"
        raise ValueError(f"column {name!r}: {rule}, got {' and '.join(values)}") from None


def polars_as_arrow(frame: Any, what: str) -> pa.Table:
    """A Polars frame as Arrow, which has no integers of 128 bits: they become decimals, or texts if they are longer."""
    try:
        return frame.to_arrow()
    except pa.ArrowException:
        return pa.table({column.name: _polars_column(column, what) for column in frame.get_columns()})


def _polars_column(column: Any, what: str) -> pa.Array:
    polars = import_module("polars")
    decimal = polars.Decimal(38, 0)

    def exact(dtype: Any) -> Any:
        if isinstance(dtype, polars.List):
            return polars.List(exact(dtype.inner))
        if isinstance(dtype, polars.Array):
            return polars.Array(exact(dtype.inner), dtype.size)
        if isinstance(dtype, polars.Struct):
            return polars.Struct([polars.Field(field.name, exact(field.dtype)) for field in dtype.fields])
        return decimal if str(dtype) in ("Int128", "UInt128") else dtype

    casts: tuple[Callable[[], Any], ...] = (
        lambda: column,
        lambda: column.cast(exact(column.dtype)),
        lambda: column.cast(polars.String),
    )
    for cast in casts:
        with suppress(pa.ArrowException, polars.exceptions.PolarsError):
            return cast().to_arrow()
    raise ValueError(
        f"{what}: the column {quoted(column.name)} holds {column.dtype}, which Arrow does not have; drop it"
    )
