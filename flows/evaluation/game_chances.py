"""The chances of games by what a run had learnt before each of them, scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ranklake.rating_kernels.chances.games import Pairings
from ranklake.rating_kernels.chances.three_way import ThreeWay
from ranklake.rating_kernels.core.standings import Floats
from ranklake.rating_kernels.core.system import Prior, System

from ..chances.played import RoundGames
from ..chances.record import RunChances
from .three_way import Results, ThreeWayScores

OWN = "own"  # model of draws: that of the system


@dataclass(frozen=True, slots=True)
class ThreeWayReport:
    """Scores of the three chances of a run's games.

    ``draws``: the model of draws, of :data:`ranklake.rating_kernels.chances.three_way.MODELS`, or :data:`OWN`.
    ``note``: how it comes that draws and advantages were learnt now, in words; empty if they are stored with the run.
    """

    draws: str
    note: str
    scores: ThreeWayScores

    def to_json(self) -> dict[str, Any]:
        """Everything except the single rounds."""
        return {"draws": self.draws, "note": self.note or None, "filters": self.scores.summary()}


def score_chances(system: System, params: Any, known: RunChances, games: RoundGames) -> ThreeWayScores:
    """Score the chances of games of consecutive rounds, by what was known before each round."""
    results = Results.of(games.lo, games.n_before, games.score, games.swapped)
    chances = chances_of_winners(system, params, known, games)
    return ThreeWayScores.of(chances, results, np.concatenate(([0], np.cumsum(games.counts))))


def chances_of_winners(system: System, params: Any, known: RunChances, games: RoundGames) -> ThreeWay:
    """The chances of the winner in each game, by what was known before its round."""
    one, other = (Prior(games.mu[at::2], games.sigma[at::2], np.empty(0), games.n_before[at::2]) for at in (0, 1))
    pairings = Pairings(system, params, games.conditions, np.full(len(games.mu) // 2, 2), one, other)
    return pairings.three_way(*known_before(known, games), known.settings.draws)


def known_before(known: RunChances, games: RoundGames) -> tuple[Floats, Floats]:
    """nu and the advantage of the winner in each game, as known before its round; the ratings are not read."""
    of_round, by = np.repeat(games.first_round + np.arange(len(games.counts)), games.counts), known.settings.by
    nu, advantage = known.of_games(of_round, *(games.kept.values(by) if by and games.kept is not None else ()))
    return nu, np.where(games.swapped, -advantage, advantage) if len(games.swapped) else advantage
