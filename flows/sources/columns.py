"""Columns of a table of results as names and numbers; unreadable rows are masked."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..common.text import quoted
from .base import SourceError

Bools = npt.NDArray[np.bool_]
Batches: TypeAlias = Generator[pa.RecordBatch, None, None]
Longs = npt.NDArray[np.int64]

EXACT_FLOAT = 2**53  # larger floats do not distinguish all whole numbers


def as_names(column: pa.ChunkedArray, noun: str, source: str) -> pa.ChunkedArray:
    """Names as strings, nulls kept; whole numbers become their decimal digits. ``SourceError`` for other values."""
    column = decoded(column)
    if pa.types.is_floating(column.type):
        values = column.to_numpy()
        wrong = np.flatnonzero(~np.isnan(values) & ~((np.floor(values) == values) & (abs(values) <= EXACT_FLOAT)))
        if len(wrong):
            rule = f"{noun} {values[wrong[0]]} is not a whole number; a {noun} is a name or a whole number"
            raise SourceError(rule, source, rows=(int(wrong[0]) + 1,))
        column = pc.if_else(pc.is_nan(column), None, column).cast(pa.int64())
    elif pa.types.is_decimal(column.type):
        column = _whole(column, noun, source)
    # Some tables use dates as contest ids. Timestamps are refused: the same moment can be written in several ways.
    named = is_text(column.type) or pa.types.is_integer(column.type) or pa.types.is_date32(column.type)
    if not (named or pa.types.is_null(column.type)):
        held = kind_in_words(column.type)
        raise SourceError(f"the {noun} column holds {held}; it must hold names or whole numbers", source)
    names = column.cast(pa.string())
    check_text(names, noun, source)
    return names


def _whole(column: pa.ChunkedArray, noun: str, source: str) -> pa.ChunkedArray:
    """Decimals without a fraction; integers of 128 bits come in them."""
    try:
        return column.cast(pa.decimal256(76, 0)).cast(pa.string())
    except pa.ArrowException:
        row = next(row for row, value in enumerate(column.to_pylist()) if value is not None and value % 1)
        rule = f"{noun} {column[row]} is not a whole number; a {noun} is a name or a whole number"
        raise SourceError(rule, source, rows=(row + 1,)) from None


def as_numbers(column: pa.ChunkedArray, noun: str, source: str) -> tuple[npt.NDArray[Any], Bools]:
    """Values as numbers, integers kept exact, and a mask of the rows that are missing, NaN or no number."""
    column = decoded(column)
    if is_text(column.type):
        check_text(column, noun, source)
        column = numbers_from_text(column)
    elif pa.types.is_decimal(column.type) or pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise SourceError(f"the {noun} column holds {kind_in_words(column.type)}; it must hold numbers", source)
    missing = pc.is_null(column, nan_is_null=True).to_numpy()
    return pc.fill_null(column, pa.scalar(0, column.type)).to_numpy(), missing


def as_flags(column: pa.ChunkedArray, noun: str, source: str) -> tuple[Bools, Bools]:
    """Values as true or false, blank ones as true, and a mask of the rows with another value."""
    column, blank = decoded(column), is_blank(column)
    if pa.types.is_boolean(column.type) or pa.types.is_null(column.type):
        return column.cast(pa.bool_()).fill_null(True).to_numpy(), np.zeros(len(column), np.bool_)
    if not (is_text(column.type) or pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise SourceError(f"the {noun} column holds {kind_in_words(column.type)}; it must hold true and false", source)
    if is_text(column.type):
        check_text(column, noun, source)
        column = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    spelled = (["false", "no", "0"], ["true", "yes", "1"]) if is_text(column.type) else ([0], [1])
    no, yes = (pc.is_in(column, value_set=pa.array(values, column.type)).to_numpy() for values in spelled)
    return cast(Bools, yes | blank), cast(Bools, ~(no | yes | blank))


def is_blank(column: pa.ChunkedArray) -> Bools:
    """Mask of the rows that are null, or text of nothing but white space."""
    column = decoded(column)
    if not is_text(column.type):
        return cast(Bools, pc.is_null(column).to_numpy())
    return cast(Bools, pc.fill_null(pc.equal(pc.utf8_trim_whitespace(column), ""), True).to_numpy())


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column without a dictionary."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def check_text(column: pa.ChunkedArray, noun: str, source: str) -> None:
    """Raise :class:`SourceError` if text is not UTF-8; names the row."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        for row, (raw, byte) in valid_texts(column)[1].items():
            rule = f"the {noun} column is not UTF-8: {raw!r}, byte 0x{byte:02x}"
            raise SourceError(rule, source, rows=(row + 1,)) from None
        raise


def valid_texts(column: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, dict[int, tuple[bytes, int]]]:
    """The texts, null where they are not UTF-8; and by row the beginning of each of these, and the wrong byte."""
    texts: list[str | None] = []
    wrong: dict[int, tuple[bytes, int]] = {}
    for row, raw in enumerate(column.cast(pa.large_string()).cast(pa.large_binary()).to_pylist()):
        try:
            texts.append(None if raw is None else raw.decode())
        except UnicodeDecodeError as error:
            texts.append(None)
            wrong[row] = raw[:40], raw[error.start]
    return pa.array(texts, column.type), wrong


def check_flat(schema: pa.Schema, names: Iterable[str], source: str) -> None:
    """Raise :class:`SourceError` for a column with several values a row."""
    for name in names:
        if pa.types.is_nested(kind := schema.field(name).type):
            raise SourceError(f"the column {quoted(name)} holds {kind}; it must hold one value a row", source)


def without_invalid(batch: pa.RecordBatch, before: int, faults: dict[int, str]) -> pa.RecordBatch:
    """The batch with nulls for texts that are not UTF-8; notes their rows, counted from ``before``, in ``faults``."""
    try:
        batch.validate(full=True)
        return batch
    except pa.ArrowInvalid:
        pass
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if is_text(column.type):
            column, wrong = valid_texts(column)
            for row, (raw, byte) in wrong.items():
                faults.setdefault(before + row, f"the column {name!r} is not UTF-8: {raw!r}, byte 0x{byte:02x}")
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def numbers_from_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers from text, null for other text."""
    column = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
    for kind in (pa.int64(), pa.float64()):
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    number = pc.match_substring_regex(column, r"(?i)^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^[+-]?inf(inity)?$")
    return pc.if_else(number, column, None).cast(pa.float64())


_IN_WORDS: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (pa.types.is_boolean, "true and false"),
    (pa.types.is_temporal, "dates or times"),
    (pa.types.is_nested, "lists or objects"),
    (is_text, "texts"),
    (lambda kind: pa.types.is_integer(kind) or pa.types.is_floating(kind), "numbers"),
)


def kind_in_words(kind: pa.DataType) -> str:
    """The values of an Arrow type in words: ``lists``, ``dates and times``; another type by its own name."""
    return next((words for fits, words in _IN_WORDS if fits(kind)), str(kind))


_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def plain(table: pa.Table) -> pa.Table:
    """The table with :func:`plain_column` of each column."""
    return pa.Table.from_arrays(list(map(plain_column, table.columns)), table.column_names)


def plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values without views and runs, with dictionaries only at the top, of distinct values that are not null.

    Arrow cannot take rows of some of the others, and pandas has no categories that are null or repeated.
    """
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    kind = _plain(column.type)
    column = column if kind == column.type else column.cast(kind)
    if not pa.types.is_dictionary(kind):
        return column
    if pa.types.is_nested(kind.value_type):  # which Arrow cannot compare
        return pa.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], kind.value_type)
    dictionaries = [chunk.dictionary for chunk in column.chunks]
    distinct = all(values.null_count == 0 and len(values.unique()) == len(values) for values in dictionaries)
    return column if distinct else column.cast(kind.value_type).dictionary_encode()


def plain_types(schema: pa.Schema) -> pa.Schema:
    """The schema with the types of :func:`plain_column`."""
    return pa.schema([field.with_type(_plain(field.type)) for field in schema])


def _plain(kind: pa.DataType, inside: bool = False) -> pa.DataType:
    """The type of the same values; ``inside`` of another type also without a dictionary."""
    if kind in _VIEWS:
        return _VIEWS[kind]
    if pa.types.is_run_end_encoded(kind):
        return _plain(kind.value_type, inside)
    if pa.types.is_dictionary(kind):
        value = _plain(kind.value_type, True)
        return value if inside else pa.dictionary(kind.index_type, value, kind.ordered)
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type, True), _plain(kind.item_type, True), kind.keys_sorted)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type, True)) for field in kind])
    for is_list, listed in _LISTS:
        if is_list(kind):
            return listed(kind.value_field.with_type(_plain(kind.value_type, True)))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type, True)), kind.list_size)
    return kind


_LISTS = ((pa.types.is_list, pa.list_), (pa.types.is_large_list, pa.large_list))
