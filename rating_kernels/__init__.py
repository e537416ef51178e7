"""Rating systems as pure functions over arrays: mathematics only, numpy and numba only."""

from .beliefs import Beliefs
from .elo_mmr import SYSTEM as _ELO_MMR
from .elo_mmr import EloMMR
from .standings import Rounds, StandingsError
from .system import ConvergenceError, Outcome, Prior, System

__all__ = ["SYSTEMS", "Beliefs", "ConvergenceError", "EloMMR", "Outcome", "Prior", "Rounds", "StandingsError", "System"]

SYSTEMS: dict[str, System] = {system.name: system for system in (_ELO_MMR,)}
