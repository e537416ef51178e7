"""Scores of rounds that a trial rated: those of `evaluate`, to the bit.

A unit is what `evaluate` sums over: a contest, also a skipped one, or a period of games. Sums of floating-point numbers
depend on the places of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from ranklake.rating_kernels import Outcome, Rounds
from ranklake.rating_kernels.core.standings import Floats, Longs
from ranklake.rating_kernels.core.system import System
from ranklake.rating_kernels.metrics.calibration import CHANCE_METRICS
from ranklake.rating_kernels.metrics.metrics import FILTERS, LAW_METRICS

from ...entrants.entrants import Entrants
from ...entrants.scores import RoundScores
from ..games import LEAST_BEFORE, score_games, summary

OF_GAMES = {"brier": "squared_error", "cross_entropy": "cross_entropy"}
"""The metrics that a search over games takes from the table of games, by their names there."""
_OF_RANKS = ("cross_entropy", "log2_rank_error")  # need expected ranks and the chances of the logistic curve


class RatedPart(NamedTuple):
    """Rounds that a system rated, of units in the form of :meth:`.trials.TrialRounds.part`."""

    system: System
    params: Any
    rounds: Rounds
    outcome: Outcome
    units: Longs | None
    of_games: bool


@dataclass(frozen=True, slots=True)
class TrialScores:
    """Scores of consecutive units under one filter.

    ``units``: one entry a unit.
    ``games`` (float64[u, filters, k]): sums over the games of each period, see :func:`..games.score_games`; None
    unless the metric is of :data:`OF_GAMES` and the units are periods.
    """

    filter: str
    units: RoundScores
    games: Floats | None = None

    @classmethod
    def of(cls, part: RatedPart, filter: str, metric: str) -> Self:
        """Score rounds that were rated, for a metric."""
        of_table = part.of_games and metric in OF_GAMES
        of_chances = of_table or metric in CHANCE_METRICS
        system = part.system if of_chances or metric in LAW_METRICS else None
        entrants = Entrants.of_outcome(system, part.params, part.rounds, part.outcome)
        scores = entrants.scores(
            [FILTERS[name] for name in (LEAST_BEFORE if of_table else (filter,))],
            laws=[metric] if metric in LAW_METRICS else [],
            pairs=of_chances,
            probabilities=metric in _OF_RANKS and not of_table,
            results=part.units,
        )
        if not of_table:
            return cls(filter, scores[filter])
        assert part.units is not None, "the periods of games"
        score = part.rounds.score if len(part.rounds.score) else np.full(len(part.rounds), np.nan)
        return cls(filter, scores[filter], score_games(entrants, scores, part.units, score))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Join the scores of consecutive parts."""
        games = [part.games for part in parts if part.games is not None]
        units = RoundScores.joined([part.units for part in parts])
        return cls(parts[0].filter, units, np.concatenate(games) if games else None)

    def mean(self, metric: str, first: int = 0, stop: int | None = None) -> float:
        """A metric over some units; NaN if none has a value."""
        if self.games is not None and metric in OF_GAMES:
            return float(summary(self.games[first:stop])[self.filter][OF_GAMES[metric]])
        return self.units.mean(metric, slice(first, stop))
