"""Teams of the rated rows of a run, from its data set: rounds do not record them."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .dataset import Dataset
from .tables.teams import Teams

Ints = npt.NDArray[np.int32]


class RoundTeams:
    """The teams of the rounds of a run.

    ``contest_ids``: the contest of each round. A contest that the data set no longer has counts as one of individuals.
    """

    def __init__(self, dataset: Dataset, contest_ids: pa.StringArray | Sequence[str]) -> None:
        self._dataset, self._lock = dataset, Lock()
        places = np.flatnonzero(dataset.contests.column("n_teams").is_valid().to_numpy())
        self._place: dict[int, int] = {}  # in the data set, of each round of teams
        if len(places):
            known = dataset.contests.column("contest_id").take(pa.array(places)).combine_chunks()
            found = pc.index_in(pa.array(contest_ids, pa.string()), value_set=known)
            rounds = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
            self._place = dict(zip(rounds.tolist(), places[found.drop_null().to_numpy()].tolist(), strict=True))
        self._rounds = np.array(list(self._place), np.int64)

    def any(self, start: int, stop: int) -> bool:
        """Whether any of the rounds from ``start`` to ``stop - 1`` has teams."""
        first, last = np.searchsorted(self._rounds, (start, stop)).tolist()
        return bool(first < last)

    def of_rows(self, round_index: Ints, player: Ints) -> Teams | None:
        """The team of each of some rated rows; None without teams.

        A player whom a correction removed since the rating has none.

        ``round_index``, ``player``: rows of a run in their order: number of the round, and dense index of the player.
        """
        if not len(round_index) or not self.any(int(round_index[0]), int(round_index[-1]) + 1):
            return None
        begins = np.flatnonzero(np.diff(round_index, prepend=-1))
        ends = np.append(begins[1:], len(round_index))
        parts: list[Teams | None] = []
        with self._lock:  # the files that a data set caches are shared
            for a, b, index in zip(begins.tolist(), ends.tolist(), round_index[begins].tolist(), strict=True):
                place = self._place.get(index)
                parts.append(None if place is None else self._contest(place, player[a:b]))
        return Teams.concat(parts, (ends - begins).tolist())

    def _contest(self, place: int, player: Ints) -> Teams | None:
        (part,) = self._dataset.standings(place, place + 1)
        if part.teams is None or np.array_equal(part.player, player):
            return part.teams
        order = np.argsort(part.player)
        at = order[np.minimum(np.searchsorted(part.player, player, sorter=order), len(order) - 1)]
        known = part.player[at] == player
        name = part.teams.name.take(pa.array(at, mask=~known))
        return Teams(name, np.where(known, part.teams.share[at], 1.0))
