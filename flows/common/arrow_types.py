"""Columns of Arrow in types that its own functions, and pandas, take."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["plain", "plain_column", "plain_types"]

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
    distinct = all(_is_distinct(chunk.dictionary) for chunk in column.chunks)
    return column if distinct else column.cast(kind.value_type).dictionary_encode()


def plain_types(schema: pa.Schema) -> pa.Schema:
    """The schema with the types of :func:`plain_column`."""
    return pa.schema([field.with_type(_plain(field.type)) for field in schema])


def _is_distinct(values: pa.Array) -> bool:
    return values.null_count == 0 and len(values.unique()) == len(values)


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
