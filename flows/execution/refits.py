"""A rater for systems without an order in time: all ratings are refitted as the games of a run grow.

A refit is due before an event if the games before it number at least 20, and at least 1.1 times those of the refit
before. The games alone determine these events, and each fit begins without a guess: every engine, batch and resumption
has the same bits. The ratings before and after a round are those of the last refit. The beliefs that are stored, and
from which games to come are predicted, are those of a fit to all games.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from ranklake.rating_kernels import Outcome, Rounds, System
from ranklake.rating_kernels.core.system import ConvergenceError

from ..common.refits import LEAST_GAMES, next_refit
from ..engines.threads import Threads
from .local import LocalRater
from .outcomes import RoundError
from .rater import BeliefColumns
from .rounds import check_rounds

T = TypeVar("T")


class RefittedRater(LocalRater):
    """A rater of a system with ``all_games``, in this process."""

    def __init__(self, system: System, params: Any, n_players: int, engine: Threads) -> None:
        super().__init__(system, params, n_players, engine)
        assert system.all_games is not None
        self._games = system.all_games(params, n_players)
        self._least = LEAST_GAMES
        self._scheduled: BeliefColumns | None = None  # while the beliefs are those of all games

    def rate_batches(self, batches: Iterable[Rounds]) -> Iterator[Outcome]:
        for rounds in batches:
            check_rounds(self._system, self._params, rounds)
            self._to_scheduled()
            outcome = Outcome.empty(rounds.n_rows)
            for start, stop in self._legs(rounds):
                if self._games.n_games >= self._least:
                    self._refit(start)
                leg = rounds.part(start, stop)
                self._system.rate_small(
                    self._params, self._beliefs, leg, outcome.part(rounds.offsets[start], rounds.offsets[stop])
                )
                self._games.add(leg)
            yield outcome

    def follow(self, batches: Iterable[Rounds]) -> None:
        """Take over the games of rounds that were rated before; the beliefs about their players are restored ones."""
        due = None
        for rounds in batches:
            for start, stop in self._legs(rounds):
                if self._games.n_games >= self._least:
                    due, self._least = self._games.copy(), next_refit(self._games.n_games)
                self._games.add(rounds.part(start, stop))
        newcomers = self._system.newcomers(self._params, len(self._beliefs))
        self._beliefs.mu[:], self._beliefs.sigma[:] = newcomers.mu, newcomers.sigma
        if due is not None:
            with suppress(ValueError):
                self._explain(due)

    def columns(self) -> BeliefColumns:
        self._to_all()
        return super().columns()

    def map_columns(self, n: int, work: Callable[[BeliefColumns], T]) -> list[T]:
        self._to_all()
        return super().map_columns(n, work)

    def _legs(self, rounds: Rounds) -> Iterator[tuple[int, int]]:
        """The rounds from one refit to the next; whole events."""
        at, starts = 0, np.flatnonzero(np.diff(rounds.event, prepend=-1))
        while at < len(rounds):
            games = self._games.n_games
            least = next_refit(games) if games >= self._least else self._least
            later = starts[(starts > at) & (games + starts - at >= least)]
            stop = int(later[0]) if len(later) else len(rounds)
            yield at, stop
            at = stop

    def _refit(self, start: int) -> None:
        """Refit before a round of a batch; without a fit to so few games, the ratings stay as they are."""
        try:
            with suppress(ValueError):
                self._explain(self._games)
        except ConvergenceError as error:
            raise RoundError(error.rule, None, start, None) from error
        self._least = next_refit(self._games.n_games)

    def _explain(self, games: Any) -> None:
        """Set the beliefs to those that explain some games."""
        found = games.explain(self._engine.map)
        self._beliefs.mu[found.played] = found.mu[found.played]
        self._beliefs.sigma[found.played] = found.sigma[found.played]

    def _to_all(self) -> None:
        """Set the beliefs to those of all games; the scheduled ones are kept."""
        if self._scheduled is None and self._games.n_games:
            beliefs = self._beliefs
            self._scheduled = {"mu": beliefs.mu.copy(), "sigma": beliefs.sigma.copy()}
            self._explain(self._games)

    def _to_scheduled(self) -> None:
        if self._scheduled is not None:
            self._beliefs.mu[:], self._beliefs.sigma[:] = self._scheduled["mu"], self._scheduled["sigma"]
            self._scheduled = None
