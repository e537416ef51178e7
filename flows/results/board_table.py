"""The table of a leaderboard, from the state of each player. Imports no kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage.lake.schemas import PUBLISHED

from ..common.titles import Titles
from .ranks import percentiles, places

__all__ = ["board_table"]


def board_table(
    players: npt.NDArray[np.int32], handles: pa.Array, state: Mapping[str, npt.NDArray[Any]], titles: Titles
) -> pa.Table:
    """The players best first, ties by handle; columns as in ``PUBLISHED["leaderboard"]``.

    Parameters
    ----------
    players, handles
        Index and handle of each rated player.
    state
        Their ``rating, mu, sigma, n_rounds, last_time_seconds, max_rating``.
    """
    shown = pa.table({"rating": state["rating"], "handle": handles})
    order = pc.sort_indices(shown, sort_keys=[("rating", "descending"), ("handle", "ascending")])
    rows, shown = order.to_numpy(), shown.take(order)
    rating = shown.column("rating").to_numpy()
    columns = {name: values[rows] for name, values in state.items()} | {
        "place": places(rating),
        "handle": shown.column("handle"),
        "title": titles.of(rating),
        "player": players[rows],
        "percentile": percentiles(rating),
    }
    schema = PUBLISHED["leaderboard"]
    return pa.table([columns[name] for name in schema.names], schema=schema)
