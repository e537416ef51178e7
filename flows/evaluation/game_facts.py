"""Weights and advantages of the games of a run, from its data set: rounds do not record them."""

from __future__ import annotations

from itertools import pairwise
from threading import Lock
from typing import NamedTuple

import numpy as np

from ranklake.rating_kernels.core.standings import Floats, Ints, Longs
from ranklake.storage import Dataset, LakeError

from ..common.adapters import HALVES

__all__ = ["GameFacts", "GamesOfRounds"]


class GamesOfRounds(NamedTuple):
    """Facts of the games of some rounds.

    Attributes
    ----------
    weight : float64[m]
        Of each game.
    advantage : float64[2 m]
        Of each player: rating points by which its strength exceeds its rating.
    """

    weight: Floats
    advantage: Floats


class GameFacts:
    """The weights and advantages of games in the rounds of a run, which are periods of games.

    Parameters
    ----------
    places
        The place in the data set of each round.
    """

    def __init__(self, dataset: Dataset, run: str, places: Longs) -> None:
        self._dataset, self._run, self._places, self._lock = dataset, run, places, Lock()

    def of(self, start: int, stop: int, offsets: Longs, player: Ints) -> GamesOfRounds:
        """The facts of the games of the rounds from ``start`` to ``stop - 1``.

        Parameters
        ----------
        offsets, player
            The rows of these rounds in the run, two a game; a round without rows was excluded.

        Raises
        ------
        LakeError
            The data set has other games now.
        """
        weight, ahead = np.ones(len(player) // 2), np.zeros(len(player) // 2)
        numbers = np.arange(start, stop)[np.diff(offsets) > 0]
        rounds = {int(self._places[number]): number - start for number in numbers.tolist()}
        if not rounds:
            return GamesOfRounds(weight, np.zeros(len(player)))
        with self._lock:  # the files that a data set caches are shared
            for part in self._dataset.standings(min(rounds), max(rounds) + 1):
                assert part.games is not None, "a data set of games"
                bounds = part.offsets.tolist()
                for at, (a, b) in enumerate(pairwise(bounds)):
                    if (number := rounds.get(part.first_contest + at)) is None:
                        continue
                    first, last = int(offsets[number]), int(offsets[number + 1])
                    if not np.array_equal(part.player[a:b], player[first:last]):
                        raise self._changed(part.first_contest + at)
                    weight[first // 2 : last // 2] = part.games.weight[a // 2 : b // 2]
                    if len(part.games.advantage):
                        ahead[first // 2 : last // 2] = part.games.advantage[a // 2 : b // 2]
        return GamesOfRounds(weight, np.outer(ahead, HALVES).ravel())

    def _changed(self, place: int) -> LakeError:
        period, name = self._dataset.contests.column("contest_id")[place].as_py(), self._dataset.name
        return LakeError(
            f"period {period} of data set {name} has other games than run {self._run}; "
            f"`ranklake rate --dataset {name} --run {self._run}` brings the run up to date"
        )
