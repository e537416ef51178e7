"""Who holds the beliefs of a run and rates its rounds: this process, or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ranklake.rating_kernels import Beliefs, Outcome, Rounds, System
from ranklake.rating_kernels.core.beliefs import Column, Ragged

from ..engines.base import DistributedEngine, Engine, LocalEngine
from .rounds import rate_rounds

__all__ = ["BeliefColumns", "LocalRater", "Rater", "open_rater"]

BeliefColumns = dict[str, Column | Ragged]

MAX_PINNED_PLAYERS = 2_000_000  # players of whom one worker may believe alone: gigabytes


class Rater(Protocol):
    """Holds what is believed of every player, and rates rounds.

    Attributes
    ----------
    ahead : int
        How many of the next calls it makes use of knowing.
    phases : dict of str to (float, int)
        Where time went: seconds and how often, by phase; empty where it is not told.
    """

    @property
    def ahead(self) -> int: ...

    @property
    def phases(self) -> Mapping[str, tuple[float, int]]: ...

    def rate(self, rounds: Rounds, ahead: Sequence[Rounds] = ()) -> Outcome:
        """Rate rounds, the next of the history, in order.

        Parameters
        ----------
        ahead
            What will be given in the next calls, as far as it is known and there will be no other call in between:
            work on it may begin.
        """

    def columns(self) -> BeliefColumns:
        """What is believed of everybody, as arrays to be stored."""

    def restore(self, columns: BeliefColumns) -> None:
        """Believe what was stored; players beyond are newcomers."""

    def close(self) -> None:
        """Nobody will ask any more."""


class LocalRater:
    """A store in this process."""

    ahead = 0

    def __init__(self, system: System, params: Any, n_players: int, engine: LocalEngine) -> None:
        self._system, self._params, self._engine = system, params, engine
        self._beliefs: Beliefs = system.newcomers(params, n_players)
        self.phases: dict[str, tuple[float, int]] = {}

    def rate(self, rounds: Rounds, ahead: Sequence[Rounds] = ()) -> Outcome:
        return rate_rounds(self._system, self._params, self._beliefs, rounds, self._engine)

    def columns(self) -> BeliefColumns:
        return self._beliefs.columns(self._engine.map)

    def restore(self, columns: BeliefColumns) -> None:
        self._beliefs.restore(columns)

    def close(self) -> None:
        return None


def open_rater(system: System, params: Any, n_players: int, engine: Engine) -> Rater:
    """A rater of newcomers.

    Raises
    ------
    EngineError
        As :meth:`.engines.base.DistributedEngine.start_actors`.
    """
    if not isinstance(engine, LocalEngine):
        from .partitioned import PartitionedRater
        from .pinned import Apart, PinnedRater

        apart = isinstance(engine, Apart)
        cluster = engine.engine if isinstance(engine, Apart) else engine
        assert isinstance(cluster, DistributedEngine)
        if apart and n_players <= MAX_PINNED_PLAYERS:
            return PinnedRater(system, params, n_players, cluster)
        return PartitionedRater(system, params, n_players, cluster)
    return LocalRater(system, params, n_players, engine)
