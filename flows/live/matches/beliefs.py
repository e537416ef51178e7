"""The beliefs of a run in memory: they grow with newcomers, and each group of matches is rated by one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Beliefs, Outcome, Rounds
from ranklake.rating_kernels.core.beliefs import AnyColumn
from ranklake.rating_kernels.core.standings import Longs

from ...common.skipping import Skipping
from ...engines.threads import Threads
from ...execution.rater import BeliefColumns, BeliefReset, mean_of_rated
from ...execution.rounds import rate_rounds
from ...results.display import Display

_ROOM = 65_536  # rows that a store gets at least when it grows: growing copies it
_GROWTH = 8  # a growing store gets this part of its size, too


class Rated(NamedTuple):
    """Rounds of a group of matches.

    ``informative`` (bool[n]): the matches that are rated; the others are skipped for their places.
    ``rounds``, ``outcome``: of the rated ones.
    """

    informative: npt.NDArray[np.bool_]
    rounds: Rounds
    outcome: Outcome


class LiveBeliefs:
    """The beliefs of one run about all players.

    ``display``: the system, its hyperparameters, and how ratings are shown.
    ``skipping``: which contests are skipped for their places.
    ``state_of``: the columns of beliefs that attributes give a new player, by the handle; None: no player has any.
    """

    def __init__(
        self,
        display: Display,
        skipping: Skipping,
        beliefs: Beliefs | None = None,
        state_of: Callable[[str], dict[str, float]] | None = None,
    ) -> None:
        self.display, self._skipping, self._state_of = display, skipping, state_of
        system, params = display.system, display.params
        self.store: Beliefs = system.newcomers(params, 0) if beliefs is None else beliefs
        self.n_players = len(self.store)
        self._engine = Threads(1)
        self._reserve()

    def grow(self, n_players: int, handles: Sequence[str]) -> None:
        """Make room for so many players; ``handles`` are the new ones."""
        first, self.n_players = self.n_players, max(n_players, self.n_players)
        if n_players > len(self.store):
            self._reserve()
        if self._state_of is None:
            return
        for row, handle in enumerate(handles, first):
            if given := self._state_of(handle):
                at = np.array([row])
                columns: dict[str, AnyColumn] = self.store.take(at)
                self.store.put(at, columns | {name: np.array([value]) for name, value in given.items()})

    def _reserve(self) -> None:
        """Make room for newcomers."""
        self.store.resize(self.n_players + self.n_players // _GROWTH + _ROOM)

    def rate(self, rounds: Rounds, of_games: bool) -> Rated:
        """Rate a group of matches, one after the other.

        Raises RoundError: one cannot be rated in double precision; the matches before it are.
        """
        if of_games:
            informative = np.ones(len(rounds), np.bool_)
        else:
            informative = self._skipping.keep(rounds)
            rounds = rounds.keep(informative)
        display = self.display
        outcome = rate_rounds(display.system, display.params, self.store, rounds, self._engine)
        return Rated(informative, rounds, outcome)

    def reset(self, reset: BeliefReset) -> None:
        """Reset beliefs between two matches, as a batch run does it between two rounds."""
        store, display = self.store, self.display
        n = self.n_players
        centre = mean_of_rated(store.mu[:n], store.n_rounds[:n]) if reset.centre is None else reset.centre
        reset.apply(display.system, display.params, store, centre)

    def columns(self, rows: Longs | None = None) -> BeliefColumns:
        """The beliefs about some players, by default all, as copies."""
        return self.store.take(np.arange(self.n_players) if rows is None else rows)

    def shown(self, rows: Any) -> Any:
        """The ratings that are shown of some players."""
        store = self.store
        return self.display.rating(store.mu[rows], store.sigma[rows], store.n_rounds[rows])
