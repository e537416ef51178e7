"""Rating systems as pure functions over arrays: mathematics only, numpy and numba only.

The names below are imported at first use: standings need no kernels. numba is imported by the first call of a kernel.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .core.beliefs import Beliefs
    from .core.standings import Rounds, StandingsError, count_events
    from .core.system import ConvergenceError, Outcome, Prior, Reset, System
    from .registry import SYSTEMS
    from .systems.bar import BAR
    from .systems.cf_general import CFGeneral
    from .systems.codeforces import Codeforces
    from .systems.elo import Elo
    from .systems.elo_games import Games, rate_games
    from .systems.elo_mmr import EloMMR
    from .systems.elo_mms import EloMMS
    from .systems.elo_mmx import EloMMX
    from .systems.elo_r import EloR
    from .systems.elo_srm import EloSRM
    from .systems.federations.fide import Fide
    from .systems.federations.world_football import IMPORTANCE
    from .systems.glicko import Glicko
    from .systems.glicko2 import Glicko2
    from .systems.glicko_allpairs import GlickoAllPairs
    from .systems.sites.atcoder import AtCoder
    from .systems.sites.leetcode import LeetCode
    from .systems.topcoder import TopCoder
    from .systems.trueskill import TrueSkill

__all__ = [
    "BAR",
    "IMPORTANCE",
    "SYSTEMS",
    "AtCoder",
    "Beliefs",
    "CFGeneral",
    "Codeforces",
    "ConvergenceError",
    "Elo",
    "EloMMR",
    "EloMMS",
    "EloMMX",
    "EloR",
    "EloSRM",
    "Fide",
    "Games",
    "Glicko",
    "Glicko2",
    "GlickoAllPairs",
    "LeetCode",
    "Outcome",
    "Prior",
    "Reset",
    "Rounds",
    "StandingsError",
    "System",
    "TopCoder",
    "TrueSkill",
    "count_events",
    "rate_games",
]

_MODULES = {
    "AtCoder": "systems.sites.atcoder",
    "BAR": "systems.bar",
    "Beliefs": "core.beliefs",
    "CFGeneral": "systems.cf_general",
    "Codeforces": "systems.codeforces",
    "Elo": "systems.elo",
    "IMPORTANCE": "systems.federations.world_football",
    "Games": "systems.elo_games",
    "rate_games": "systems.elo_games",
    "EloMMR": "systems.elo_mmr",
    "EloMMS": "systems.elo_mms",
    "EloMMX": "systems.elo_mmx",
    "EloR": "systems.elo_r",
    "EloSRM": "systems.elo_srm",
    "Fide": "systems.federations.fide",
    "Glicko": "systems.glicko",
    "Glicko2": "systems.glicko2",
    "GlickoAllPairs": "systems.glicko_allpairs",
    "Rounds": "core.standings",
    "StandingsError": "core.standings",
    "count_events": "core.standings",
    "ConvergenceError": "core.system",
    "Outcome": "core.system",
    "Prior": "core.system",
    "Reset": "core.system",
    "System": "core.system",
    "LeetCode": "systems.sites.leetcode",
    "TopCoder": "systems.topcoder",
    "TrueSkill": "systems.trueskill",
    "SYSTEMS": "registry",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
