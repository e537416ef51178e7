"""The state of each player after some rounds, and the leaderboard of these states. Imports no kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage.lake.schemas import LEADERBOARD

from .components import Components
from .places import PlaceOptions
from .ranks import ranked
from .titles import Titles

NO_END = int(np.iinfo(np.int64).min)  # a latest end that is unknown: times before 1970 are negative


@dataclass(frozen=True, slots=True)
class States:
    """The players rated until a round.

    ``players`` (int32[n]): indices of the players, ascending.
    ``columns``: ``rating, mu, sigma, n_rounds, max_rating, last_time_seconds`` of each.
    ``latest`` (int64[n]): the latest of the :func:`known_ends` of all rounds of each. Clocks of sources may go back.
    ``components``: who met whom in these rounds; None if that is not known.
    """

    players: npt.NDArray[np.int32]
    columns: dict[str, npt.NDArray[Any]]
    latest: npt.NDArray[np.int64]
    components: Components | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        return self.players.nbytes + self.latest.nbytes + sum(values.nbytes for values in self.columns.values())


def known_ends(ends: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The ends of rounds, UTC seconds, with ``NO_END`` in place of 0 where they are unknown."""
    return np.where(ends == 0, NO_END, ends)


def board_table(
    states: States, handles: pa.Array, titles: Titles, places: PlaceOptions, uncertainty: float
) -> pa.Table:
    """The players best first, ties by handle, with the columns of :func:`.ranks.ranked`; ``handles`` are theirs."""
    shown = pa.table({"rating": states.columns["rating"], "handle": handles})
    order = pc.sort_indices(shown, sort_keys=[("rating", "descending"), ("handle", "ascending")])
    rows, shown = order.to_numpy(), shown.take(order)
    rating = shown.column("rating").to_numpy()
    met = states.components
    component = None if met is None else met.of[states.players[rows]]
    columns = {name: values[rows] for name, values in states.columns.items()} | {
        "place": pa.nulls(len(rows), pa.int64()),
        "handle": shown.column("handle"),
        "title": titles.of(rating),
        "player": states.players[rows],
        "percentile": pa.nulls(len(rows), pa.float64()),
        "component": pa.nulls(len(rows), pa.int32()) if component is None else component,
    }
    schema = pa.schema([field.with_nullable(True) for field in LEADERBOARD])
    board = pa.table([columns[name] for name in schema.names], schema=schema)
    return ranked(board, places, uncertainty)
