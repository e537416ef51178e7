"""Games of a run: their weights and advantages, from its data set, and scores of their predicted results.

The expected score of the first player is the probability of a win, to which a draw counts half; a score between these
is compared with it as it is. Sources: Glickman,
"Parameter estimation in large dynamic paired comparison experiments", for the cross-entropy (a binomial deviance);
Brier, "Verification of forecasts expressed in terms of probability", for the squared error.
"""

from __future__ import annotations

from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels.core.standings import Conditions, Floats, Ints, Longs
from ranklake.storage import LakeError

from ..common.adapters import HALVES
from ..results.rated_rounds import RatedRounds
from .entrants import Entrants
from .scores import RoundScores

_LEAST_CHANCE = 1e-15  # of a result, that its logarithm is finite
LEAST_BEFORE = {"everyone": 1, "experienced": 5}
"""Games that both players have played before, at least, by the name of the filter."""


class GivenGames(NamedTuple):
    """Games as a data set has them.

    ``advantage``, ``points``: of each player; points are NaN where unknown.
    ``score``: of each winner, NaN where it follows from the places.
    """

    conditions: Conditions
    advantage: Floats
    score: Floats
    points: Floats


class GameFacts:
    """The conditions and advantages of games in the rounds of a run, which are periods of games.

    ``without_advantages``: the system has no rule for advantages, so that the run has rated none.
    """

    def __init__(self, rounds: RatedRounds, without_advantages: bool) -> None:
        self._without = without_advantages
        self._dataset, self._run, self._lock = rounds.dataset, rounds.run.name, Lock()
        ids, known = pa.array(rounds.chain.contest_ids, pa.string()), self._dataset.contests.column("contest_id")
        self._places = pc.index_in(ids, value_set=known.combine_chunks())  # in the data set, of each round

    def of(self, start: int, stop: int, offsets: Longs, player: Ints) -> GivenGames:
        """What the data set says of the games of rounds ``start`` to ``stop - 1``.

        ``offsets``, ``player``: the rows of these rounds in the run, two a game; a round without rows was excluded.
        Raises LakeError: the data set has other games now.
        """
        weight, precision, ahead = np.ones(n := len(player) // 2), np.ones(n), np.zeros(n)
        score, points = np.full(n, np.nan), np.full(len(player), np.nan)
        numbers = np.arange(start, stop)[np.diff(offsets) > 0]
        rounds = {self._places[number].as_py(): number - start for number in numbers.tolist()}
        if not rounds:
            return GivenGames(Conditions(weight, precision), np.zeros(len(player)), score, points)
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
                    if len(part.games.precision):
                        precision[first // 2 : last // 2] = part.games.precision[a // 2 : b // 2]
                    if part.points is not None:
                        points[first:last] = part.points[a:b]
                    if len(part.games.advantage):
                        if self._without and part.games.advantage[a // 2 : b // 2].any():
                            raise self._changed(part.first_contest + at)
                        ahead[first // 2 : last // 2] = part.games.advantage[a // 2 : b // 2]
                    if len(part.games.score):
                        score[first // 2 : last // 2] = part.games.score[a // 2 : b // 2]
        return GivenGames(Conditions(weight, precision), np.outer(ahead, HALVES).ravel(), score, points)

    def _changed(self, place: int) -> LakeError:
        period, name = self._dataset.contests.column("contest_id")[place].as_py(), self._dataset.name
        return LakeError(
            f"period {period} of data set {name} has other games than run {self._run}; "
            f"`ranklake rate --dataset {name} --run {self._run}` brings the run up to date"
        )


def score_games(entrants: Entrants, scores: dict[str, RoundScores], results: Longs, score: Floats) -> Floats:
    """Sums over the games of each period, for each filter of :data:`LEAST_BEFORE`.

    ``entrants``: two rows a game, the winner first.
    ``scores``: the scores of the periods, with the metrics of chances.
    ``results``: as for :func:`.scores.score_rounds`.
    ``score``: of each winner, NaN where it follows from the places.
    Returns float64[p, filters, 4]: games, draws, squared errors of the expected score, and cross-entropy in bits.
    """
    draw, period = entrants.lo[1::2] == 0, np.repeat(np.arange(len(results) - 1), np.diff(results))
    fewer = np.minimum(entrants.n_before[::2], entrants.n_before[1::2])
    sums = np.empty((len(results) - 1, len(LEAST_BEFORE), 4))
    for at, (name, least) in enumerate(LEAST_BEFORE.items()):
        pairs = scores[name].pairs
        assert pairs is not None, "the chances of a system"
        draws = np.bincount(period[draw & (fewer >= least)], minlength=len(sums))
        games, squares, bits = (0.5 * column for column in (pairs.weight, pairs.squared_error, pairs.cross_entropy))
        sums[:, at] = np.stack([games, draws, squares, bits], axis=-1)  # a game has the weight of two participations
    between = np.flatnonzero(score % 0.5 > 0)
    if len(between):
        more = _beyond_wins(entrants, between, score[between])
        for at, least in enumerate(LEAST_BEFORE.values()):
            told = fewer[between] >= least
            for number, column in enumerate(more, 2):
                sums[:, at, number] += np.bincount(period[between[told]], column[told], len(sums))
    return sums


def _beyond_wins(entrants: Entrants, games: Longs, score: Floats) -> tuple[Floats, Floats]:
    """The squared errors and cross-entropies of scores between a draw and a win, less those of wins."""
    chance = np.clip(entrants.chances_of_games(games), _LEAST_CHANCE, 1.0 - _LEAST_CHANCE)
    return (score - chance) ** 2 - (1.0 - chance) ** 2, (1.0 - score) * (np.log2(chance) - np.log2(1.0 - chance))


def summary(sums: Floats) -> dict[str, dict[str, Any]]:
    """For each filter the number of games, the share of draws, and the mean of both errors; NaN without games."""
    found = {}
    for name, (games, *totals) in zip(LEAST_BEFORE, sums.sum(axis=0).tolist(), strict=True):
        means = [value / games if games else float("nan") for value in totals]
        found[name] = {"games": int(games)} | dict(zip(("draws", "squared_error", "cross_entropy"), means, strict=True))
    return found
