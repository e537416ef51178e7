"""Rating systems as pure functions over arrays: mathematics only, numpy and numba only."""

from .bar import BAR
from .bar import SYSTEM as _BAR
from .beliefs import Beliefs
from .cf_general import SYSTEM as _CF_GENERAL
from .cf_general import CFGeneral
from .codeforces import SYSTEM as _CODEFORCES
from .codeforces import Codeforces
from .elo import SYSTEM as _ELO
from .elo import Elo
from .elo_games import IMPORTANCE, Games, rate_games
from .elo_mmr import SYSTEM as _ELO_MMR
from .elo_mmr import EloMMR
from .elo_mmx import SYSTEM as _ELO_MMX
from .elo_mmx import EloMMX
from .elo_r import SYSTEM as _ELO_R
from .elo_r import EloR
from .elo_srm import SYSTEM as _ELO_SRM
from .elo_srm import EloSRM
from .glicko import SYSTEM as _GLICKO
from .glicko import Glicko
from .glicko2 import SYSTEM as _GLICKO2
from .glicko2 import Glicko2
from .glicko_allpairs import SYSTEM as _GLICKO_ALLPAIRS
from .glicko_allpairs import GlickoAllPairs
from .standings import Rounds, StandingsError, count_events
from .system import ConvergenceError, Outcome, Prior, System
from .topcoder import SYSTEM as _TOPCODER
from .topcoder import TopCoder
from .trueskill import SYSTEM as _TRUESKILL
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

SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        _ELO_MMR,
        _ELO_MMX,
        _ELO_R,
        _CODEFORCES,
        _CF_GENERAL,
        _TOPCODER,
        _ELO_SRM,
        _ELO,
        _GLICKO,
        _GLICKO2,
        _GLICKO_ALLPAIRS,
        _TRUESKILL,
        _BAR,
    )
}
