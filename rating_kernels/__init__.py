"""Rating systems as pure functions over arrays: mathematics only, numpy and numba only.

The names below are imported when they are first used: reading standings needs no kernels, and importing numba takes
half a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bar import BAR
    from .cf_general import CFGeneral
    from .codeforces import Codeforces
    from .core.beliefs import Beliefs
    from .core.standings import Rounds, StandingsError, count_events
    from .core.system import ConvergenceError, Outcome, Prior, System
    from .elo import Elo
    from .elo_games import IMPORTANCE, Games, rate_games
    from .elo_mmr import EloMMR
    from .elo_mmx import EloMMX
    from .elo_r import EloR
    from .elo_srm import EloSRM
    from .glicko import Glicko
    from .glicko2 import Glicko2
    from .glicko_allpairs import GlickoAllPairs
    from .registry import SYSTEMS
    from .topcoder import TopCoder
    from .trueskill import TrueSkill

__all__ = [
    "BAR",
    "IMPORTANCE",
    "SYSTEMS",
    "Beliefs",
    "CFGeneral",
    "Codeforces",
    "ConvergenceError",
    "Elo",
    "EloMMR",
    "EloMMX",
    "EloR",
    "EloSRM",
    "Games",
    "Glicko",
    "Glicko2",
    "GlickoAllPairs",
    "Outcome",
    "Prior",
    "Rounds",
    "StandingsError",
    "System",
    "TopCoder",
    "TrueSkill",
    "count_events",
    "rate_games",
]

_MODULES = {
    "BAR": "bar",
    "Beliefs": "beliefs",
    "CFGeneral": "cf_general",
    "Codeforces": "codeforces",
    "Elo": "elo",
    "IMPORTANCE": "elo_games",
    "Games": "elo_games",
    "rate_games": "elo_games",
    "EloMMR": "elo_mmr",
    "EloMMX": "elo_mmx",
    "EloR": "elo_r",
    "EloSRM": "elo_srm",
    "Glicko": "glicko",
    "Glicko2": "glicko2",
    "GlickoAllPairs": "glicko_allpairs",
    "Rounds": "standings",
    "StandingsError": "standings",
    "count_events": "standings",
    "ConvergenceError": "system",
    "Outcome": "system",
    "Prior": "system",
    "System": "system",
    "TopCoder": "topcoder",
    "TrueSkill": "trueskill",
    "SYSTEMS": "registry",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
