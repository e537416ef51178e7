"""Teams of the stored rounds of a run, from its data set: the rounds themselves do not record them."""

from __future__ import annotations

from itertools import pairwise
from threading import Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.core.standings import Longs
from ranklake.storage import Dataset
from ranklake.storage.datasets.tables.teams import Teams

__all__ = ["StoredTeams"]


class StoredTeams:
    """The teams of the rounds of a run.

    Parameters
    ----------
    contests : int64[r]
        For each round, the place of its contest in the data set.
    """

    def __init__(self, dataset: Dataset, contests: Longs) -> None:
        self._dataset, self._contests, self._lock = dataset, contests, Lock()
        self._of_teams = dataset.contests.column("n_teams").is_valid().to_numpy()[contests]

    def any(self, rounds: slice) -> bool:
        """Whether any of some rounds has teams."""
        return bool(self._of_teams[rounds].any())

    def names(self, rounds: slice, offsets: Longs, player: npt.NDArray[np.int32]) -> Teams | None:
        """The team of each row; None if nobody has one. A player whom a correction removed since has none.

        Parameters
        ----------
        offsets, player
            The rows of these rounds.
        """
        parts: list[Teams | None] = []
        with self._lock:
            for place, of_teams, (a, b) in zip(
                self._contests[rounds].tolist(),
                self._of_teams[rounds].tolist(),
                pairwise(offsets.tolist()),
                strict=True,
            ):
                parts.append(self._contest(place, player[a:b]) if of_teams and b > a else None)
        return Teams.concat(parts, np.diff(offsets).tolist())

    def teams(self, rounds: slice, offsets: Longs, player: npt.NDArray[np.int32]) -> Ragged | None:
        """The shares of each team's members; None if no team has two members."""
        named = self.names(rounds, offsets, player)
        if named is None:
            return None
        sizes = np.diff(np.flatnonzero(named.opens(offsets)), append=len(player))
        return None if (sizes == 1).all() else Ragged.from_lengths(sizes, np.array(named.share))

    def _contest(self, place: int, player: npt.NDArray[np.int32]) -> Teams | None:
        (part,) = self._dataset.standings(place, place + 1)
        if part.teams is None or np.array_equal(part.player, player):
            return part.teams
        order = np.argsort(part.player)
        at = order[np.minimum(np.searchsorted(part.player, player, sorter=order), len(order) - 1)]
        known = part.player[at] == player
        name = part.teams.name.take(pa.array(at, mask=~known))
        return Teams(name, np.where(known, part.teams.share[at], 1.0))
