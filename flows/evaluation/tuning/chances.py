"""Chances of a win, a draw and a loss inside a trial: learnt on the schedule of a run, and scored as by `evaluate`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ranklake.rating_kernels.core.standings import Floats
from ranklake.rating_kernels.core.system import System

from ...chances.played import RoundGames
from ...chances.prequential import Prequential
from ...chances.record import RunChances
from ...chances.settings import ChanceSettings
from ...entrants.entrants import Entrants
from ..game_chances import score_chances
from .history import HistoryPart, TrialRounds


class TrialChances:
    """Draws and advantages that a trial learns from its own ratings, part after part, as a run does."""

    def __init__(self, system: System, params: Any, history: TrialRounds) -> None:
        self._system, self._params, self._settings = system, params, ChanceSettings()
        counts = np.diff(history.units)
        self._learning = Prequential(self._settings, system, params, counts, [""] * len(counts), (), _nothing)

    def score(self, first: int, part: HistoryPart, entrants: Entrants) -> Floats:
        """The sums of the units from ``first`` on; each game is predicted by what the units before taught."""
        counts, given = np.diff(part.units), part.rounds
        swapped = part.swapped if len(part.swapped) else np.zeros(len(given), bool)
        sides = entrants.mu, entrants.sigma, entrants.n_before, entrants.lo
        games = RoundGames(first, counts, *sides, given.conditions, given.score, swapped, None)
        self._learning.add(games)
        self._learning.at(first + len(counts) - 1)
        known = RunChances(self._settings, tuple(self._learning.fits))
        return score_chances(self._system, self._params, known, games).sums


def _nothing(start: int, stop: int) -> Iterable[RoundGames]:
    raise AssertionError("all games before were added")
