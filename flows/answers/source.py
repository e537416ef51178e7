"""Where answers come from: what is asked of the rounds of a run in the lake, of its published index, or of a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..results.states import States

if TYPE_CHECKING:  # kernels are imported for computed ratings only
    from ..results.display import Display


class Rows(Protocol):
    """The rated rounds of one history, for leaderboards."""

    @property
    def ends(self) -> npt.NDArray[np.int64]:
        """The end of each round, UTC seconds; 0 if unknown."""

    @property
    def display(self) -> Display:
        """The display rating."""

    @property
    def leaderboard_table(self) -> pa.Table:
        """The leaderboard after all rounds."""

    def states_before(self, stop: int) -> States:
        """The state of each player after the rounds before ``stop``, at least 0. O(rows of these rounds)."""

    def board(self, states: States) -> pa.Table:
        """The leaderboard of some states; columns as in ``PUBLISHED["leaderboard"]``."""


class HistoryRows(Protocol):
    """The rated rounds of one history, for the rounds of a player."""

    @property
    def contests_table(self) -> pa.Table:
        """The contest of each round: ``contest_id, name, url, time_seconds, n_players`` and perhaps others."""

    def history_rows(self, players: Sequence[int]) -> pa.Table:
        """The rated rows of the first of some players who has any, in order; else no row.

        The columns are ``round_index, player, ..., n_before`` of ``ROUNDS``, the display ``rating``, and ``team``; of
        games also ``opponent``, an index.
        """

    def handles_of(self, players: npt.NDArray[np.int32]) -> pa.Array:
        """Handles of players, given their indices."""
