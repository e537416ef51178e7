"""The rater whose beliefs are held by this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from ranklake.rating_kernels import Beliefs, Outcome, Rounds, System

from ..engines.threads import Threads
from .rater import BeliefColumns, BeliefReset, HandOver, mean_of_rated
from .rounds import rate_rounds

T = TypeVar("T")


class LocalRater:
    """A rater whose beliefs are a store in this process."""

    def __init__(self, system: System, params: Any, n_players: int, engine: Threads) -> None:
        self._system, self._params, self._engine = system, params, engine
        self._beliefs: Beliefs = system.newcomers(params, n_players)
        self.phases: dict[str, tuple[float, int]] = {}
        self.workers: list[str] = []
        self.left_out: Mapping[str, str] = {}

    def rate_batches(self, batches: Iterable[Rounds]) -> Iterator[Outcome]:
        for rounds in batches:
            yield rate_rounds(self._system, self._params, self._beliefs, rounds, self._engine)

    def reset(self, reset: BeliefReset) -> float:
        beliefs, centre = self._beliefs, reset.centre
        centre = mean_of_rated(beliefs.mu, beliefs.n_rounds) if centre is None else centre
        reset.apply(self._system, self._params, beliefs, centre)
        return centre

    def columns(self) -> BeliefColumns:
        return self._beliefs.columns(self._engine.map)

    def map_columns(self, n: int, work: Callable[[BeliefColumns], T]) -> list[T]:
        """Results of a function for the beliefs about ``n`` players at a time, in order; the engine's threads call it.

        At no time are there arrays of the beliefs about all players.
        """
        n_players = len(self._beliefs)
        results: dict[int, T] = {}

        def call(first: int, last: int) -> None:
            for number in range(first, last):
                players = np.arange(number * n, min((number + 1) * n, n_players))
                results[number] = work(self._beliefs.take(players))

        n_calls = max(-(-n_players // n), 1)
        self._engine.map(call, n_calls)
        return [results[number] for number in range(n_calls)]

    def hand_over(self, take: HandOver) -> list[Any]:
        return []

    def restore(self, columns: BeliefColumns) -> None:
        self._beliefs.restore(columns)

    def close(self) -> None:
        return None
