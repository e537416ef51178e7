"""The leaderboard of an earlier time: the last row of each player until then, from the parts of the index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..common.times import count_until
from ..results.board_table import board_table
from .index_rows import IndexRows

__all__ = ["States", "leaderboard_at", "rounds_until", "states_before"]

_STATE = {"rating": float, "mu": float, "sigma": float, "n_rounds": np.int32, "max_rating": float}


@dataclass(frozen=True, slots=True)
class States:
    """The players rated until a round.

    Attributes
    ----------
    players : int32[n]
        Indices of the players, ascending.
    columns : dict
        ``rating, mu, sigma, n_rounds, max_rating, last_time_seconds`` of each.
    latest : int64[n]
        The latest end of all rounds of each, UTC seconds; 0 if unknown. Clocks of sources may go back.
    """

    players: npt.NDArray[np.int32]
    columns: dict[str, npt.NDArray[Any]]
    latest: npt.NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        return self.players.nbytes + self.latest.nbytes + sum(values.nbytes for values in self.columns.values())


def rounds_until(tables: IndexRows, at: int) -> int:
    """The number of rounds until the last one that ended at a time, UTC seconds, or before."""
    return count_until(_ends(tables), at)


def states_before(tables: IndexRows, stop: int) -> States:
    """The state of each player after the rounds before ``stop``. O(rows of these rounds)."""
    n, ends = len(tables.row_of_player), _ends(tables)
    state = {name: np.zeros(n, kind) for name, kind in _STATE.items()}
    last_round, latest, state["max_rating"][:] = np.full(n, -1), np.zeros(n, np.int64), -np.inf
    for part in tables.parts_before(stop):
        players, found = part.states(stop, ends)
        highest = np.maximum(state["max_rating"][players], found["max_rating"])
        for name, values in (found | {"max_rating": highest}).items():
            if name in state:
                state[name][players] = values
        last_round[players] = found["round_index"]
        latest[players] = np.maximum(latest[players], found["latest"])
    rated = np.flatnonzero(last_round >= 0).astype(np.int32)
    columns = {name: values[rated] for name, values in state.items()}
    return States(rated, columns | {"last_time_seconds": ends[last_round[rated]]}, latest[rated])


def leaderboard_at(tables: IndexRows, states: States, at: int) -> pa.Table:
    """The leaderboard of a time; as :func:`ranklake.flows.results.as_of.leaderboard_at`, with the published titles.

    Parameters
    ----------
    states
        After the last round until then.
    at
        UTC seconds.

    Raises
    ------
    ValueError
        ``at`` is out of range.
    """
    columns = states.columns
    if len(states.players):
        from ..results.display import Display  # these import kernels
        from ..results.idle import idle_rating

        about = tables.manifest
        display = Display.named(about.system, about.params, about.deviations, about.minimum)
        mu, sigma, n_rounds = (columns[name] for name in ("mu", "sigma", "n_rounds"))
        sigma, rating = idle_rating(display, mu, sigma, n_rounds, states.latest, at)
        columns = columns | {"sigma": sigma, "rating": rating}
    handles = tables.handles_of(pa.chunked_array([pa.array(states.players)]))
    return board_table(states.players, handles, columns, tables.titles)


def _ends(tables: IndexRows) -> npt.NDArray[np.int64]:
    """The end of each round, UTC seconds; 0 if unknown."""
    found: npt.NDArray[np.int64] = tables.contests_table.column("time_seconds").fill_null(0).to_numpy()
    return found
