"""Teams of the rated rows of a run, from its data set: rounds do not record them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from .dataset import Dataset
from .marked_rounds import Ints, MarkedRounds, find_players
from .tables.standings import StandingsPart
from .tables.teams import Teams


class RoundTeams(MarkedRounds):
    """The teams of the rounds of a run.

    ``contest_ids``: the contest of each round. A contest that the data set no longer has counts as one of individuals.
    """

    def __init__(self, dataset: Dataset, contest_ids: pa.StringArray | Sequence[str]) -> None:
        super().__init__(dataset, contest_ids, "n_teams")

    def of_rows(self, round_index: Ints, player: Ints) -> Teams | None:
        """The team of each of some rated rows; None without teams.

        A player whom a correction removed since the rating has none.

        ``round_index``, ``player``: rows of a run in their order: number of the round, and dense index of the player.
        """
        if not len(round_index) or not self.any(int(round_index[0]), int(round_index[-1]) + 1):
            return None
        parts: list[Teams | None] = []
        sizes: list[int] = []
        for a, b, part in self._parts(round_index):
            parts.append(None if part is None else _teams_of(part, player[a:b]))
            sizes.append(b - a)
        return Teams.concat(parts, sizes)


def _teams_of(part: StandingsPart, player: Ints) -> Teams | None:
    if part.teams is None or np.array_equal(part.player, player):
        return part.teams
    at, known = find_players(part, player)
    name = part.teams.name.take(pa.array(at, mask=~known))
    return Teams(name, np.where(known, part.teams.share[at], 1.0))
