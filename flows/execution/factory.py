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
    if isinstance(engine, LocalEngine):
        return LocalRater(system, params, n_players, engine)
    from .partitioned import PartitionedRater
    from .pinned import PinnedPlacement, PinnedRater

    if isinstance(engine, PinnedPlacement):
        if n_players <= MAX_PINNED_PLAYERS:
            return PinnedRater(system, params, n_players, engine.engine)
        engine = engine.engine
    assert isinstance(engine, DistributedEngine)
    return PartitionedRater(system, params, n_players, engine)
