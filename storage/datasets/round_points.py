"""Points of the rows of a run, from its data set: rounds do not record them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .dataset import Dataset
from .marked_rounds import Ints, MarkedRounds, find_players
from .tables.standings import StandingsPart


class RoundPoints(MarkedRounds):
    """The points of the rounds of a run, of contests and of games.

    ``contest_ids``: the contest of each round. Points of a contest that the data set no longer has are unknown.
    """

    def __init__(self, dataset: Dataset, contest_ids: pa.StringArray | Sequence[str]) -> None:
        super().__init__(dataset, contest_ids, "scored")

    def of_rows(self, round_index: Ints, player: Ints) -> npt.NDArray[np.float64]:
        """The points of each of some rows, NaN where unknown; of games that were corrected since the rating, too.

        ``round_index``, ``player``: rows of a run in their order: number of the round, and dense index of the player.
        """
        points = np.full(len(round_index), np.nan)
        if len(round_index) and self.any(int(round_index[0]), int(round_index[-1]) + 1):
            for a, b, part in self._parts(round_index):
                if part is not None and part.points is not None:
                    points[a:b] = _points_of(part, part.points, player[a:b])
        return points


def _points_of(part: StandingsPart, points: npt.NDArray[np.float64], player: Ints) -> npt.NDArray[np.float64]:
    if np.array_equal(part.player, player):
        return points
    if part.games is not None:  # a player may have several games in a period
        return np.full(len(player), np.nan)
    at, known = find_players(part, player)
    return np.where(known, points[at], np.nan)
