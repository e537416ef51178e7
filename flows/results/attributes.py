"""Attributes by player, such as countries: of the current handles, and of old names. Imports no kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Dataset
from ranklake.storage.datasets.tables.aliases import NEVER, canonical
from ranklake.storage.lake.schemas import OF_ATTRIBUTES

COUNTRY = "country"  # the attribute that pages show beside the name
NAME = "name"  # the attribute that is shown instead of the handle


def player_attributes(dataset: Dataset, handles: pa.StringArray | None = None) -> pa.Table:
    """The attributes of the players of a data set; handles without a player are left out.

    An attribute recorded under an old name is the player's, unless one is recorded under the current name.
    ``handles``: the players in order, in place of those of the data set.

    Returns columns as in ``OF_ATTRIBUTES["attributes"]``, in order of attribute and player.
    """
    rows, aliases = dataset.attributes(), dataset.log().aliases
    renamed = {old: new for old in aliases if (new := canonical(aliases, old, NEVER)) != old}
    handle = rows.column("handle")
    at = pc.index_in(handle, value_set=pa.array(renamed.keys(), pa.string()))
    current = pc.coalesce(pa.array(renamed.values(), pa.string()).take(at), handle)
    player = pc.index_in(current, value_set=dataset.handles() if handles is None else handles)
    columns = [player, current, rows.column("attribute"), rows.column("value")]
    table = pa.table(columns, schema=OF_ATTRIBUTES["attributes"])
    own = pc.is_null(at).to_numpy()
    kept = pc.is_valid(player)
    table, own = table.filter(kept), own[kept.to_numpy()]
    names = pa.array(attribute_names(table), pa.string())
    attribute = pc.index_in(table.column("attribute"), value_set=names).to_numpy()
    of = table.column("player").to_numpy()
    order = np.lexsort((own, of, attribute))
    attribute, of = attribute[order], of[order]
    last = np.ones(len(order), np.bool_)  # of the rows of a player and attribute
    last[:-1] = (attribute[1:] != attribute[:-1]) | (of[1:] != of[:-1])
    return table.take(pa.array(order[last]))


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
