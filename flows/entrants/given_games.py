"""Games as a data set has them, for the rounds of a run: weights, precisions, advantages, scores, points, columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels.core.standings import Conditions, Floats, Ints, Longs
from ranklake.storage import LakeError
from ranklake.storage.datasets.tables.kept import Kept, join_kept

from ..common.adapters import HALVES, covariates_of
from ..results.rated_rounds import RatedRounds

Bools = npt.NDArray[np.bool_]


class GivenGames(NamedTuple):
    """Games as a data set has them.

    ``advantage``, ``points``: of each player; points are NaN where unknown.
    ``score``: of each winner, NaN where it follows from the places.
    ``swapped`` (bool[m]): whether the winner is the second player.
    ``kept``: kept columns of the games; None if there are none.
    ``covariates`` (float64[m, c]): those that were asked for, turned to the winner.
    """

    conditions: Conditions
    advantage: Floats
    score: Floats
    points: Floats
    swapped: Bools
    kept: Kept | None = None
    covariates: Floats = np.empty((0, 0))


class GameFacts:
    """The conditions and advantages of games in the rounds of a run, which are periods of games.

    ``without_advantages``: the system has no rule for advantages, so that the run has rated none.
    ``covariates``: names of those to read.
    """

    def __init__(self, rounds: RatedRounds, without_advantages: bool, covariates: Sequence[str] = ()) -> None:
        self._without, self._covariates = without_advantages, tuple(covariates)
        self._dataset, self._run, self._lock = rounds.dataset, rounds.run.name, Lock()
        ids, known = pa.array(rounds.chain.contest_ids, pa.string()), self._dataset.contests.column("contest_id")
        self._places = pc.index_in(ids, value_set=known.combine_chunks())  # in the data set, of each round

    def of(self, start: int, stop: int, offsets: Longs, player: Ints) -> GivenGames:
        """What the data set says of the games of rounds ``start`` to ``stop - 1``.

        ``offsets``, ``player``: the rows of these rounds in the run, two a game; a round without rows was excluded.
        Raises LakeError: the data set has other games now.
        """
        weight, precision, ahead = np.ones(n := len(player) // 2), np.ones(n), np.zeros(n)
        score, points, swapped = np.full(n, np.nan), np.full(len(player), np.nan), np.zeros(n, bool)
        kept: dict[int, Kept] = {}  # by number of the first game
        x = np.zeros((n, len(self._covariates)))
        numbers = np.arange(start, stop)[np.diff(offsets) > 0]
        rounds = {self._places[number].as_py(): number - start for number in numbers.tolist()}
        if not rounds:
            return GivenGames(Conditions(weight, precision), np.zeros(len(player)), score, points, swapped)
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
                    x[first // 2 : last // 2] = covariates_of(part.games.part(a, b), self._covariates)
                    weight[first // 2 : last // 2] = part.games.weight[a // 2 : b // 2]
                    if len(part.games.precision):
                        precision[first // 2 : last // 2] = part.games.precision[a // 2 : b // 2]
                    if part.points is not None:
                        points[first:last] = part.points[a:b]
                    if len(part.games.advantage):
                        if self._without and part.games.advantage[a // 2 : b // 2].any():
                            raise self._changed(part.first_contest + at)
                        ahead[first // 2 : last // 2] = part.games.advantage[a // 2 : b // 2]
                    if len(part.games.swapped):
                        swapped[first // 2 : last // 2] = part.games.swapped[a // 2 : b // 2]
                    if part.games.kept is not None:
                        kept[first // 2] = part.games.kept.take(slice(a // 2, b // 2))
                    if len(part.games.score):
                        score[first // 2 : last // 2] = part.games.score[a // 2 : b // 2]
        halves = np.outer(ahead, HALVES).ravel()
        return GivenGames(Conditions(weight, precision), halves, score, points, swapped, _placed(kept, n), x)

    def _changed(self, place: int) -> LakeError:
        period, name = self._dataset.contests.column("contest_id")[place].as_py(), self._dataset.name
        return LakeError(
            f"period {period} of data set {name} has other games than run {self._run}; "
            f"`ranklake rate --dataset {name} --run {self._run}` brings the run up to date"
        )


def _placed(kept: dict[int, Kept], n: int) -> Kept | None:
    """The kept columns of ``n`` games, given those of some of them by number of the first game."""
    parts, sizes, at = list[Kept | None](), list[int](), 0
    for first, part in sorted(kept.items()):
        parts += [None, part]
        sizes += [first - at, len(part.codes)]
        at = first + len(part.codes)
    return join_kept([*parts, None], [*sizes, n - at])


def between_results(score: Floats) -> Bools:
    """Which games have a score that is none of a win, a draw or a loss; NaN stands for one of these."""
    between: Bools = score % 0.5 > 0.0
    return between
