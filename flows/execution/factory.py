"""Open the rater that belongs to an engine."""

from __future__ import annotations

from typing import Any

from ranklake.rating_kernels import System

from ..engines.protocols import DistributedEngine, Engine, LocalEngine
from .local import LocalRater
from .rater import Rater

__all__ = ["MAX_PINNED_PLAYERS", "open_rater"]

MAX_PINNED_PLAYERS = 2_000_000  # maximum number of players whose state one worker may hold (a few GB)


def open_rater(system: System, params: Any, n_players: int, engine: Engine) -> Rater:
    """A rater of newcomers.

    Raises
    ------
    EngineError
        As :meth:`.engines.protocols.DistributedEngine.start_actors`.
    """
    if not isinstance(engine, LocalEngine):
        from .partitioned import PartitionedRater
        from .pinned import PinnedPlacement, PinnedRater

        pinned = isinstance(engine, PinnedPlacement)
        cluster = engine.engine if isinstance(engine, PinnedPlacement) else engine
        assert isinstance(cluster, DistributedEngine)
        if pinned and n_players <= MAX_PINNED_PLAYERS:
            return PinnedRater(system, params, n_players, cluster)
        return PartitionedRater(system, params, n_players, cluster)
    return LocalRater(system, params, n_players, engine)
