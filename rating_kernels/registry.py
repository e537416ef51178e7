"""The rating systems by name."""

from __future__ import annotations

from .bar import SYSTEM as _BAR
from .cf_general import SYSTEM as _CF_GENERAL
from .codeforces import SYSTEM as _CODEFORCES
from .core.system import System
from .elo import SYSTEM as _ELO
from .elo_mmr import SYSTEM as _ELO_MMR
from .elo_mmx import SYSTEM as _ELO_MMX
from .elo_r import SYSTEM as _ELO_R
from .elo_srm import SYSTEM as _ELO_SRM
from .glicko import SYSTEM as _GLICKO
from .glicko2 import SYSTEM as _GLICKO2
from .glicko_allpairs import SYSTEM as _GLICKO_ALLPAIRS
from .topcoder import SYSTEM as _TOPCODER
from .trueskill import SYSTEM as _TRUESKILL

__all__ = ["SYSTEMS"]

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
