"""Scores of rounds that a trial rated: those of `evaluate`, to the bit.

A unit is what `evaluate` sums over: a contest, also a skipped one, or a period of games. Sums of floating-point numbers
depend on the places of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ranklake.rating_kernels import Outcome
from ranklake.rating_kernels.core.standings import Floats
from ranklake.rating_kernels.core.system import System
from ranklake.rating_kernels.metrics.calibration import CHANCE_METRICS
from ranklake.rating_kernels.metrics.metrics import FILTERS, LAW_METRICS
from ranklake.rating_kernels.warm import CHANCES, SCORES

from ...entrants.entrants import Entrants
from ...entrants.scores import RoundScores
from ..games import score_games, summary
from ..three_way import means_of
from .chances import TrialChances
from .history import TrialRounds

OF_GAMES = {"brier": "squared_error", "cross_entropy": "cross_entropy"}
"""The metrics that a search over games takes from the table of games, by their names there."""
LOG_LOSS3 = "log_loss3"
_OF_RANKS = ("cross_entropy", "log2_rank_error")  # need expected ranks and the chances of the logistic curve


def kernels_of(metric: str) -> list[str]:
    """The parts of kernels that scores of a metric need, as for :func:`...compilation.compile.compile_parts`."""
    return [SCORES, CHANCES] if metric == LOG_LOSS3 else [SCORES]


@dataclass(frozen=True, slots=True)
class TrialScores:
    """Scores of consecutive units under one filter.

    ``units``: one entry a unit.
    ``games`` (float64[u, filters, k]): sums over the games of each unit, see :func:`..games.score_games` and
    :class:`..three_way.ThreeWayScores`; None unless the metric is one of games.
    """

    filter: str
    units: RoundScores
    games: Floats | None = None

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Join the scores of consecutive parts."""
        games = [part.games for part in parts if part.games is not None]
        units = RoundScores.joined([part.units for part in parts])
        return cls(parts[0].filter, units, np.concatenate(games) if games else None)

    def mean(self, metric: str, first: int = 0, stop: int | None = None) -> float:
        """A metric over some units; NaN if none has a value."""
        if self.games is None or metric not in (*OF_GAMES, LOG_LOSS3):
            return self.units.mean(metric, slice(first, stop))
        of_results = means_of if metric == LOG_LOSS3 else summary
        return float(of_results(self.games[first:stop])[self.filter][OF_GAMES.get(metric, metric)])


class TrialScorer:
    """Scores the parts of a history that a trial rates, in their order, by one metric."""

    def __init__(self, system: System, params: Any, history: TrialRounds, filter: str, metric: str) -> None:
        self._system, self._params, self._history = system, params, history
        self._filter, self._metric = filter, metric
        self._of_table = history.of_games and metric in OF_GAMES
        self._chances = TrialChances(system, params, history) if metric == LOG_LOSS3 else None

    def score(self, first: int, stop: int, outcome: Outcome) -> TrialScores:
        """The scores of the units ``first`` to ``stop - 1``, which follow those scored before."""
        part = self._history.part(first, stop)
        rounds, units = part.rounds, part.units
        of_chances = self._of_table or self._metric in CHANCE_METRICS
        modelled = of_chances or self._metric in LAW_METRICS or self._chances is not None
        entrants = Entrants.of_outcome(self._system if modelled else None, self._params, rounds, outcome)
        alone = not self._history.of_games and bool((np.diff(units) == 1).all())
        scores = entrants.scores(
            [FILTERS[self._filter]],
            laws=[self._metric] if self._metric in LAW_METRICS else [],
            pairs=of_chances,
            probabilities=self._metric in _OF_RANKS and not self._of_table,
            results=None if alone else units,
        )
        games = None
        if self._of_table:
            score = rounds.score if len(rounds.score) else np.full(len(rounds), np.nan)
            games = score_games(entrants, scores, units, score)
        elif self._chances is not None:
            games = self._chances.score(first, part, entrants)
        return TrialScores(self._filter, scores[self._filter], games)
