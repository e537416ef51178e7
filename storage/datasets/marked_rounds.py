"""Rounds of a run whose standings in the data set have more than the rows of the run record: teams, points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .dataset import Dataset
from .tables.standings import StandingsPart

Ints = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


class MarkedRounds:
    """The rounds of a run whose contests have a value in a ``column`` of the table of contests.

    ``contest_ids``: the contest of each round. A contest that the data set no longer has is not marked.
    """

    def __init__(self, dataset: Dataset, contest_ids: pa.StringArray | Sequence[str], column: str) -> None:
        self._dataset, self._lock = dataset, Lock()
        places = np.flatnonzero(dataset.contests.column(column).is_valid().to_numpy())
        self._place: dict[int, int] = {}  # in the data set, of each marked round
        if len(places):
            known = dataset.contests.column("contest_id").take(pa.array(places)).combine_chunks()
            found = pc.index_in(pa.array(contest_ids, pa.string()), value_set=known)
            rounds = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
            self._place = dict(zip(rounds.tolist(), places[found.drop_null().to_numpy()].tolist(), strict=True))
        self._rounds = np.array(list(self._place), np.int64)

    def any(self, start: int, stop: int) -> bool:
        """Whether any of the rounds from ``start`` to ``stop - 1`` is marked."""
        first, last = np.searchsorted(self._rounds, (start, stop)).tolist()
        return bool(first < last)

    def _parts(self, round_index: Ints) -> Iterator[tuple[int, int, StandingsPart | None]]:
        """For each round of some rows of a run, in order, its first row, the one behind its last, and its standings if
        it is marked.
        """
        begins = np.flatnonzero(np.diff(round_index, prepend=-1))
        ends = np.append(begins[1:], len(round_index))
        with self._lock:  # the files that a data set caches are shared
            for a, b, index in zip(begins.tolist(), ends.tolist(), round_index[begins].tolist(), strict=True):
                place = self._place.get(index)
                yield a, b, None if place is None else next(self._dataset.standings(place, place + 1))


def find_players(part: StandingsPart, player: Ints) -> tuple[npt.NDArray[np.intp], Mask]:
    """A row of each of these players in standings, and whether it has one."""
    order = np.argsort(part.player)
    at = order[np.minimum(np.searchsorted(part.player, player, sorter=order), len(order) - 1)]
    return at, part.player[at] == player
