"""The rating systems by name."""

from __future__ import annotations

from .core.system import System
from .systems.bar import SYSTEM as _BAR
from .systems.cf_general import SYSTEM as _CF_GENERAL
from .systems.codeforces import SYSTEM as _CODEFORCES
from .systems.elo import SYSTEM as _ELO
from .systems.elo_mmr import SYSTEM as _ELO_MMR
from .systems.elo_mms import SYSTEM as _ELO_MMS
from .systems.elo_mmx import SYSTEM as _ELO_MMX
from .systems.elo_r import SYSTEM as _ELO_R
from .systems.elo_srm import SYSTEM as _ELO_SRM
from .systems.glicko import SYSTEM as _GLICKO
from .systems.glicko2 import SYSTEM as _GLICKO2
from .systems.glicko_allpairs import SYSTEM as _GLICKO_ALLPAIRS
from .systems.sites.atcoder import SYSTEM as _ATCODER
from .systems.sites.leetcode import SYSTEM as _LEETCODE
from .systems.topcoder import SYSTEM as _TOPCODER
from .systems.trueskill import SYSTEM as _TRUESKILL

__all__ = ["SYSTEMS"]

SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        _ELO_MMR,
        _ELO_MMX,
        _ELO_MMS,
        _ELO_R,
        _CODEFORCES,
        _CF_GENERAL,
        _LEETCODE,
        _ATCODER,
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
