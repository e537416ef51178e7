"""Draws and advantages of a run, refitted as its games grow: a game is predicted by fits to earlier rounds only.

A refit is due before round r if the games before it number at least 20, and at least 1.1 times those of the refit
before. The data set alone determines these rounds, so that every engine, machine and resumption has the same. A refit
takes all games before its round, with the beliefs that the run recorded for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ranklake.rating_kernels.chances.fit import ASSUMED, Learnt, fit
from ranklake.rating_kernels.chances.games import Pairings
from ranklake.rating_kernels.chances.three_way import NONE
from ranklake.rating_kernels.core.standings import Conditions, Longs
from ranklake.rating_kernels.core.system import Prior, System

from ..common.refits import LEAST_GAMES, refit_rounds
from .played import GamesSoFar, RoundGames
from .settings import ChanceSettings

MOST_GAMES = 20_000_000
"""Games of a data set up to which a run learns without being asked: the fits hold all games in memory."""
MOST_SLOW_GAMES = 20_000
"""The same where expected scores are not logistic: they take up to two microseconds, several times in each fit."""


class RoundFit(NamedTuple):
    """What a run had learnt before a round.

    ``round_index``: the first round that it predicts.
    ``games``: games of the rounds before.
    ``digest``: chain digest of the round before, on which it depends; empty before round 0.
    ``overall``: of all games.
    ``values``: by value of the column; a value that is not there has that of all games.
    """

    round_index: int
    games: int
    digest: str
    overall: Learnt
    values: dict[str, Learnt]

    def of(self, value: str | None = None) -> Learnt:
        """What was learnt of games with a value of the column."""
        return self.overall if value is None else self.values.get(value, self.overall)


def nothing_learnt(settings: ChanceSettings) -> RoundFit:
    """What a run knows before its first game."""
    nu, error = (0.0, 0.0) if settings.draws == NONE else (ASSUMED.nu, ASSUMED.ln_nu_deviation)
    overall = Learnt(nu, 0.0, error, ASSUMED.advantage_deviation, 0)
    return RoundFit(0, 0, "", overall, _without(settings, overall))


def has_leads(system: System, params: Any) -> bool:
    """Whether the expected scores of a system are logistic, so that fits are fast."""
    side = Prior(np.full(1, params.mu_init), np.full(1, params.sigma_init), np.empty(0), np.zeros(1, np.int32))
    return Pairings(system, params, Conditions(np.ones(1), np.ones(1)), 2, side, side).leads() is not None


def most_unasked(system: System, params: Any) -> int:
    """The largest number of games from which a run learns without being asked."""
    return MOST_GAMES if has_leads(system, params) else MOST_SLOW_GAMES


class Prequential:
    """The fits of a run, made in the order of its rounds.

    ``counts`` (int64[n]): games of each round of the data set.
    ``digests``: chain digest of each round.
    ``fits``: those that are known; the first one whose round has another digest is made again, with all after it.
    ``read``: reads the games of committed rounds from one to another.
    """

    def __init__(
        self,
        settings: ChanceSettings,
        system: System,
        params: Any,
        counts: Longs,
        digests: Sequence[str],
        fits: Iterable[RoundFit],
        read: Callable[[int, int], Iterable[RoundGames]],
    ) -> None:
        self.settings, self._read, self._digests = settings, read, digests
        self._before = np.concatenate(([0], np.cumsum(counts)))
        self._due = refit_rounds(counts)
        self._games = GamesSoFar(system, params, settings, int(self._before[-1]))
        self.fits: list[RoundFit] = []
        for known, round_index in zip(fits, self._due, strict=False):
            if known.round_index != round_index or known.digest != digests[round_index - 1]:
                break
            self.fits.append(known)

    def is_due(self, stop: int) -> bool:
        """Whether a fit before round ``stop``, or at it, is missing."""
        return len(self.fits) < len(self._due) and self._due[len(self.fits)] <= stop

    @property
    def reached(self) -> int:
        """Number of rounds whose games were added."""
        return self._games.reached

    def add(self, games: RoundGames) -> None:
        """Add the games of rated rounds; those added before are passed over, and missing ones before them are read."""
        if games.first_round > self._games.reached:
            self._read_until(games.first_round)
        if games.first_round + len(games.counts) > self._games.reached:
            self._games.add(games.since(self._games.reached))

    def at(self, round_index: int) -> RoundFit:
        """What is known before a round; makes all fits that are due."""
        while self.is_due(round_index):
            due = self._due[len(self.fits)]
            self._read_until(due)
            self.fits.append(self._fit(due))
        found = nothing_learnt(self.settings)
        for known in self.fits:
            found = known if known.round_index <= round_index else found
        return found

    def legs(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The rounds from ``start`` to ``stop``, cut where a refit is due."""
        cuts = [start, *(due for due in self._due if start < due < stop), stop]
        return list(pairwise(cuts)) if start < stop else []

    def _read_until(self, stop: int) -> None:
        if stop > self._games.reached:
            for games in self._read(self._games.reached, stop):
                self._games.add(games.since(self._games.reached))

    def _fit(self, due: int) -> RoundFit:
        before = self.fits[-1] if self.fits else None
        return fit_games(self._games, self.settings, due, int(self._before[due]), self._digests[due - 1], before)


def fit_games(
    games: GamesSoFar, settings: ChanceSettings, round_index: int, n_games: int, digest: str, before: RoundFit | None
) -> RoundFit:
    """The fit to the games before a round.

    ``n_games``: their number, with those that have no three chances.
    ``before``: the fit where the search begins.
    """
    n = games.before(round_index)
    start = before or nothing_learnt(settings)
    overall = _fit(games, settings, n, None, start.overall)
    values = _without(settings, overall)
    if settings.by:
        for value, own in sorted(games.by_value(n).items()):
            if value in values:
                values[value] = replace(values[value], games=len(own))
            elif len(own) >= LEAST_GAMES:
                values[value] = _fit(games, settings, n, own, start.values.get(value, overall))
    return RoundFit(round_index, n_games, digest, overall, values)


def _fit(games: GamesSoFar, settings: ChanceSettings, n: int, chosen: Longs | None, start: Learnt) -> Learnt:
    """The fit to the first ``n`` games, or to some of them."""
    found = fit(games.played(n, chosen), settings.draws, start if start.games else None)
    return found if games.knows_first(n) else replace(found, advantage=0.0, advantage_error=0.0)


def _without(settings: ChanceSettings, overall: Learnt) -> dict[str, Learnt]:
    """The values without an advantage, which share the draws of all games."""
    none = replace(overall, advantage=0.0, advantage_error=0.0, games=0)
    return dict.fromkeys(settings.no_advantage, none)
