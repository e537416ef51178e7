"""Games of a run: their weights and advantages, from its data set, and scores of their predicted results.

The expected score of the first player is the probability of a win, to which a draw counts half. Sources: Glickman,
"Parameter estimation in large dynamic paired comparison experiments", for the cross-entropy (a binomial deviance);
Brier, "Verification of forecasts expressed in terms of probability", for the squared error.
"""

from __future__ import annotations

from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels.core.standings import Floats, Ints, Longs
from ranklake.rating_kernels.core.system import Prior, System
from ranklake.storage import LakeError

from ..common.adapters import HALVES
from ..results.rated_rounds import RatedRounds
from .entrants import Entrants

LEAST_BEFORE = {"everyone": 1, "experienced": 5}
"""Games that both players have played before, at least, by the name of the filter."""

_LEAST_CHANCE = 1e-9  # bounds the cross-entropy of a result whose predicted probability is 0


class GameFacts:
    """The weights and advantages of games in the rounds of a run, which are periods of games."""

    def __init__(self, rounds: RatedRounds) -> None:
        self._dataset, self._run, self._lock = rounds.dataset, rounds.run.name, Lock()
        ids, known = pa.array(rounds.chain.contest_ids, pa.string()), self._dataset.contests.column("contest_id")
        self._places = pc.index_in(ids, value_set=known.combine_chunks())  # in the data set, of each round

    def of(self, start: int, stop: int, offsets: Longs, player: Ints) -> tuple[Floats, Floats]:
        """Weights of the games of the rounds from ``start`` to ``stop - 1``, and the advantage of each player in them.

        ``offsets``, ``player``: the rows of these rounds in the run, two a game; a round without rows was excluded.
        Raises LakeError: the data set has other games now.
        """
        weight, ahead = np.ones(len(player) // 2), np.zeros(len(player) // 2)
        numbers = np.arange(start, stop)[np.diff(offsets) > 0]
        rounds = {self._places[number].as_py(): number - start for number in numbers.tolist()}
        if not rounds:
            return weight, np.zeros(len(player))
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
        return weight, np.outer(ahead, HALVES).ravel()

    def _changed(self, place: int) -> LakeError:
        period, name = self._dataset.contests.column("contest_id")[place].as_py(), self._dataset.name
        return LakeError(
            f"period {period} of data set {name} has other games than run {self._run}; "
            f"`ranklake rate --dataset {name} --run {self._run}` brings the run up to date"
        )


def score_games(
    system: System, params: Any, entrants: Entrants, sigma: Floats, weight: Floats, results: Longs
) -> Floats:
    """Sums over the games of each period, for each filter of :data:`LEAST_BEFORE`.

    ``entrants``, ``sigma``: two rows a game, the winner first; with the strengths of the players in it.
    ``weight``: of each game.
    ``results``: as for :func:`.scores.score_rounds`.
    Returns float64[p, filters, 4]: games, draws, squared errors of the expected score, and cross-entropy in bits.
    """
    mu, n_before = entrants.mu, entrants.n_before
    nothing = np.full(len(mu) // 2, np.nan)
    first, second = (Prior(mu[at::2], sigma[at::2], nothing, n_before[at::2]) for at in (0, 1))
    expected = np.clip(system.beats(params, weight, 2, first, second), _LEAST_CHANCE, 1.0 - _LEAST_CHANCE)
    draw = (entrants.lo[1::2] == 0).astype(np.float64)
    score = 1.0 - 0.5 * draw
    bits = -(score * np.log2(expected) + (1.0 - score) * np.log2(1.0 - expected))
    period, n = np.repeat(np.arange(len(results) - 1), np.diff(results)), len(results) - 1
    sums = np.empty((n, len(LEAST_BEFORE), 4))
    for at, least in enumerate(LEAST_BEFORE.values()):
        known = np.minimum(n_before[::2], n_before[1::2]) >= least
        for column, values in enumerate((np.ones(len(draw)), draw, np.square(score - expected), bits)):
            sums[:, at, column] = np.bincount(period[known], values[known], n)
    return sums


def summary(sums: Floats) -> dict[str, dict[str, Any]]:
    """For each filter the number of games, the share of draws, and the mean of both errors; NaN without games."""
    found = {}
    for name, (games, *totals) in zip(LEAST_BEFORE, sums.sum(axis=0).tolist(), strict=True):
        means = [value / games if games else float("nan") for value in totals]
        found[name] = {"games": int(games)} | dict(zip(("draws", "squared_error", "cross_entropy"), means, strict=True))
    return found
