"""Attributes of the players of a data set, such as countries: by current handle, and of old names."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..lake.schemas import OF_ATTRIBUTES
from .dataset import Dataset
from .tables.aliases import NEVER, canonical


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
    names = pa.array(sorted(table.column("attribute").unique().to_pylist()), pa.string())
    attribute = pc.index_in(table.column("attribute"), value_set=names).to_numpy()
    of = table.column("player").to_numpy()
    order = np.lexsort((own, of, attribute))
    attribute, of = attribute[order], of[order]
    last = np.ones(len(order), np.bool_)  # of the rows of a player and attribute
    last[:-1] = (attribute[1:] != attribute[:-1]) | (of[1:] != of[:-1])
    return table.take(pa.array(order[last]))
