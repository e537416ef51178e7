"""Open the rater that belongs to an engine."""

from __future__ import annotations

from typing import Any

from ranklake.rating_kernels import System

from ..engines.protocols import DistributedEngine, Engine, LocalEngine
from .local import LocalRater
from .rater import Rater


def open_rater(system: System, params: Any, n_players: int, engine: Engine) -> Rater:
    """A rater of newcomers.

    Raises EngineError: as :meth:`.engines.protocols.DistributedEngine.start_actors`.
    """
    if isinstance(engine, LocalEngine):
        return LocalRater(system, params, n_players, engine)
    from .partitioned import PartitionedRater

    assert isinstance(engine, DistributedEngine)
    return PartitionedRater(system, params, n_players, engine)
