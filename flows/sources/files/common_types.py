"""One type for each column of several tables that are read as one."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ..base import SourceError
from ..columns import decoded, is_text

__all__ = ["with_common_types"]

_UNITS = ("s", "ms", "us", "ns")


def with_common_types(tables: Sequence[pa.Table], names: Sequence[str]) -> list[pa.Table]:
    """Tables with the same columns, each column with one type.

    Types of text become one, and so do whole numbers of several sizes, numbers with and without a fraction, dates and
    timestamps of several units; timestamps without a zone are UTC. An empty column takes the type of the others.

    Parameters
    ----------
    names
        The names of the tables in messages.

    Raises
    ------
    SourceError
        A column has types of several kinds, or a value that the common type does not hold; names both files.
    """
    columns: dict[str, list[pa.ChunkedArray]] = {}
    for column in tables[0].column_names:
        parts = [decoded(table[column]) for table in tables]
        kind = parts[0].type
        for number, part in enumerate(parts):
            common = _common_type(kind, part.type)
            if common is None:
                kinds = f"{kind} in {names[0]}, {part.type} here"
                rule = f"the column {column!r} holds {kinds}; files of one table need equivalent types"
                raise SourceError(rule, names[number])
            kind = common
        columns[column] = [_cast(part, kind, column, name) for part, name in zip(parts, names, strict=True)]
    return [pa.table({column: parts[i] for column, parts in columns.items()}) for i in range(len(tables))]


def _common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that holds the values of two types; None if they are of several kinds."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if is_text(one) and is_text(other):
        return pa.large_string()
    dates = [pa.types.is_date(kind) for kind in (one, other)]
    if all(dates):
        return pa.date32()
    if all(pa.types.is_date(kind) or pa.types.is_timestamp(kind) for kind in (one, other)):
        units = [kind.unit for kind in (one, other) if pa.types.is_timestamp(kind)]
        return pa.timestamp(max(units, key=_UNITS.index), "UTC")
    decimals = [kind for kind in (one, other) if pa.types.is_decimal(kind)]
    if decimals and all(pa.types.is_integer(kind) or pa.types.is_decimal(kind) for kind in (one, other)):
        return pa.decimal256(76, max(kind.scale for kind in decimals))  # Arrow's own choice can be too narrow
    try:
        schemas = [pa.schema([("", kind)]) for kind in (one, other)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


def _cast(column: pa.ChunkedArray, kind: pa.DataType, name: str, source: str) -> pa.ChunkedArray:
    try:
        return column.cast(kind)
    except pa.ArrowException as error:
        rule = f"the column {name!r} holds a value that is no {kind}, the common type of all files: {error}"
        raise SourceError(rule.splitlines()[0], source) from None
