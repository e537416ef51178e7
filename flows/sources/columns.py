"""Columns of a table of results as names, numbers and times; what cannot be read is masked, row by row."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flows.sources.base import SourceError

__all__ = ["as_names", "as_numbers", "as_seconds", "is_blank"]

Bools = npt.NDArray[np.bool_]
Longs = npt.NDArray[np.int64]

INT64_MAX = 2**63 - 1
EXACT_FLOAT = 2**53  # beyond it a float no longer tells a whole number from its neighbour


def as_names(column: pa.ChunkedArray, what: str, source: str) -> pa.ChunkedArray:
    """Names as strings, nulls kept; whole numbers become their decimal digits.

    Raises
    ------
    SourceError
        A column of another type, a number that is not whole, or text that is not UTF-8.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        values = column.to_numpy()
        wrong = np.flatnonzero(~np.isnan(values) & ~((np.floor(values) == values) & (abs(values) <= EXACT_FLOAT)))
        if len(wrong):
            rule = f"{what} {values[wrong[0]]} is not a whole number; a {what} is a name or a whole number"
            raise SourceError(rule, source, rows=(int(wrong[0]) + 1,))
        column = pc.if_else(pc.is_nan(column), None, column).cast(pa.int64())
    if not (_is_text(column.type) or pa.types.is_integer(column.type) or pa.types.is_null(column.type)):
        raise SourceError(f"the {what} column holds {column.type}; it must hold names or whole numbers", source)
    names = column.cast(pa.string())
    try:
        names.validate(full=True)
    except pa.ArrowInvalid as error:
        raise SourceError(f"the {what} column is not UTF-8: {error}", source) from None
    return names


def as_numbers(column: pa.ChunkedArray, what: str, source: str) -> tuple[npt.NDArray[Any], Bools]:
    """Values as numbers, integers kept exact, and a mask of the rows that are missing, NaN or no number.

    Raises
    ------
    SourceError
        A column whose type is no number.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if _is_text(column.type):
        column = _numbers_from_text(column)
    elif pa.types.is_decimal(column.type) or pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise SourceError(f"the {what} column holds {column.type}; it must hold numbers", source)
    missing = pc.is_null(column, nan_is_null=True).to_numpy()
    return pc.fill_null(column, pa.scalar(0, column.type)).to_numpy(), missing


def as_seconds(column: pa.ChunkedArray, what: str, source: str) -> tuple[Longs, Bools]:
    """Times as UTC seconds, and a mask of the rows that are no int64 second.

    Whole numbers are seconds; timestamps without a zone are read as UTC and, like dates, rounded down to the second.

    Raises
    ------
    SourceError
        A column whose type is no time.
    """
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s"))
    if pa.types.is_timestamp(column.type):
        ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
        missing = pc.is_null(column).to_numpy()
        return np.floor_divide(pc.fill_null(column.cast(pa.int64()), 0).to_numpy(), ticks), missing
    if _is_text(column.type):
        column = _seconds_from_text(column)
    values, bad = as_numbers(column, what, source)
    if values.dtype.kind == "f":
        bad = bad | ~((np.floor(values) == values) & (abs(values) <= EXACT_FLOAT))
    elif values.dtype == np.uint64:
        bad = bad | (values > INT64_MAX)
    return np.where(bad, 0, values).astype(np.int64), bad


def is_blank(column: pa.ChunkedArray) -> Bools:
    """Mask of the rows that hold nothing: null, or text of nothing but white space."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not _is_text(column.type):
        return cast(Bools, pc.is_null(column).to_numpy())
    return cast(Bools, pc.fill_null(pc.equal(pc.utf8_trim_whitespace(column), ""), True).to_numpy())


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _numbers_from_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    column = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
    for kind in (pa.int64(), pa.float64()):
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    number = pc.match_substring_regex(column, r"(?i)^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^[+-]?inf(inity)?$")
    return pc.if_else(number, column, None).cast(pa.float64())


def _seconds_from_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers or timestamps such as 2021-07-25T17:20:00Z, each distinct text read once."""
    numbers = _numbers_from_text(column)
    if numbers.null_count == column.null_count:
        return numbers
    encoded = column.cast(pa.string()).dictionary_encode().combine_chunks()
    stamps = pa.array([_stamp(text) for text in encoded.dictionary.to_pylist()], pa.float64())
    return pc.coalesce(numbers.cast(pa.float64()), pa.chunked_array([stamps.take(encoded.indices)]))


def _stamp(text: str) -> float | None:
    for kind in (pa.timestamp("us", "UTC"), pa.timestamp("us")):  # Arrow reads a zone only when one is asked for
        try:
            return float(pa.scalar(text.strip()).cast(kind).value // 10**6)
        except pa.ArrowInvalid:
            continue
    return None
