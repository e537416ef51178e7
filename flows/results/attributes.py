"""Values of attributes, such as countries, by player and by handle. Imports no kernel."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

COUNTRY = "country"  # the attribute that pages show beside the name
NAME = "name"  # the attribute that is shown instead of the handle


def attribute_names(attributes: pa.Table) -> list[str]:
    """The names of all attributes, sorted."""
    return sorted(attributes.column("attribute").unique().to_pylist())


def values_of(attributes: pa.Table, attribute: str, players: pa.ChunkedArray) -> pa.DictionaryArray:
    """The value of an attribute for each of ``players``, by index; null without one."""
    rows = attributes.filter(pc.equal(attributes.column("attribute"), attribute))
    at = pc.index_in(players, value_set=rows.column("player").combine_chunks())
    values = rows.column("value").combine_chunks().dictionary_encode()
    return values.take(at.combine_chunks() if isinstance(at, pa.ChunkedArray) else at)


def values_by_handle(attributes: pa.Table, attribute: str) -> dict[str, str]:
    """The value of an attribute by handle, of the players that have one."""
    rows = attributes.filter(pc.equal(attributes.column("attribute"), attribute))
    return dict(zip(rows.column("handle").to_pylist(), rows.column("value").to_pylist(), strict=True))


def grouping(names: Sequence[str]) -> tuple[str, ...]:
    """The attributes that make groups, of all: not the name, of which nearly each player has another."""
    return tuple(name for name in names if name != NAME)
