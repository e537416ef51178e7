"""The choice of a rater: of this process or of a cluster, and of rounds or of all games."""

from __future__ import annotations

from typing import Any

from ranklake.rating_kernels import System

from ..engines.protocols import DistributedEngine, Engine
from ..engines.threads import Threads
from .local import LocalRater
from .rater import Rater


def open_rater(system: System, params: Any, n_players: int, engine: Engine) -> Rater:
    """A rater of newcomers. Systems that explain all games at once are rated in this process.

    Raises EngineError: as :meth:`.engines.protocols.DistributedEngine.start_actors`.
    """
    if system.all_games is not None:
        from .refits import RefittedRater

        return RefittedRater(system, params, n_players, engine if isinstance(engine, Threads) else Threads())
    if isinstance(engine, Threads):
        return LocalRater(system, params, n_players, engine)
    from .partitioned import PartitionedRater

    assert isinstance(engine, DistributedEngine)
    return PartitionedRater(system, params, n_players, engine)
