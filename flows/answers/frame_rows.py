"""The rated rounds of ratings in memory: a frame with every participation, and the beliefs after all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from ranklake.rating_kernels.core.beliefs import NEVER

from ..results.components import Components
from ..results.display import Display
from ..results.places import PlaceOptions
from ..results.states import NO_END, States, board_table, known_ends
from ..results.titles import NONE
from .seasonal.figures import Columns


class FrameRows:
    """The rounds of a frame; handles are the texts of the players' names.

    ``beliefs``: ``mu, sigma, n_rounds, last_time`` of each after all rounds.
    ``history``: makes ``round_index, player, time_seconds, mu_prior, sigma_prior, mu, sigma, n_before`` of all
    participations in rated order.
    ``components``: finds who met whom before a round, or in all of them; None if that is not known.
    """

    def __init__(
        self,
        players: Sequence[Any],
        beliefs: Mapping[str, Any],
        display: Display,
        history: Callable[[], pd.DataFrame],
        components: Callable[[int | None], Components | None],
    ) -> None:
        self.players, self._beliefs, self.display = pd.Index(players), beliefs, display
        self._read, self._components = history, components

    @cached_property
    def _history(self) -> pd.DataFrame:
        return self._read()

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        """The end of each round, UTC seconds; 0 if unknown, and of rounds without participations."""
        rounds, times = (self._history[name].to_numpy() for name in ("round_index", "time_seconds"))
        ends = np.zeros(int(rounds.max(initial=-1)) + 1, np.int64)
        ends[rounds] = times
        return ends

    @property
    def leaderboard_table(self) -> pa.Table:
        """The leaderboard after all rounds; its ``max_rating`` is unknown."""
        mu, sigma, n_rounds, last = (np.asarray(self._beliefs[k]) for k in ("mu", "sigma", "n_rounds", "last_time"))
        rows = np.flatnonzero(n_rounds).astype(np.int32)
        last = np.where(last == NEVER, 0, last)[rows]
        return self.board(self._states(rows, mu[rows], sigma[rows], n_rounds[rows], last, last))

    def states_before(self, stop: int, until: int | None = None) -> States:
        n = int(np.searchsorted(self._history["round_index"].to_numpy(), stop))
        rows = self._history.iloc[:n]
        number = self.players.get_indexer(pd.Index(rows["player"]))
        last_row, latest = np.full(len(self.players), -1), np.full(len(self.players), NO_END)
        last_row[number] = np.arange(n)
        np.maximum.at(latest, number, known_ends(rows["time_seconds"].to_numpy()))
        players = np.flatnonzero(last_row >= 0).astype(np.int32)
        at = last_row[players]
        mu, sigma, n_before, last = (rows[k].to_numpy()[at] for k in ("mu", "sigma", "n_before", "time_seconds"))
        return self._states(players, mu, sigma, (n_before + 1).astype(np.int32), last, latest[players], stop - 1)

    def season_rows(self, first: int, stop: int) -> Iterator[Columns]:
        start, end = np.searchsorted(self._history["round_index"].to_numpy(), (first, stop))
        rows = self._history.iloc[start:end]
        numbers = {name: rows[name].to_numpy() for name in ("round_index", "mu_prior", "sigma_prior", "n_before")}
        mu, sigma = rows["mu"].to_numpy(), rows["sigma"].to_numpy()
        rating = self.display.rating(mu, sigma, numbers["n_before"] + np.int32(1), numbers["round_index"])
        yield numbers | {"player": self.players.get_indexer(pd.Index(rows["player"])), "rating": rating}

    def board(self, states: States) -> pa.Table:
        handles = pa.Array.from_pandas(self.players.take(states.players).astype(str))
        return board_table(states, handles.cast(pa.string()), NONE, PlaceOptions(), self.display.system.uncertainty)

    def _states(
        self, players: Any, mu: Any, sigma: Any, n_rounds: Any, last: Any, latest: Any, last_round: int | None = None
    ) -> States:
        rating, unknown = self.display.rating(mu, sigma, n_rounds, last_round), np.full(len(mu), np.nan)
        columns = {"rating": rating, "mu": mu, "sigma": sigma, "n_rounds": n_rounds}
        columns |= {"last_time_seconds": last, "max_rating": unknown}
        stop = None if last_round is None else last_round + 1
        return States(players, columns, latest, self._components(stop))
