"""Default spaces of a search: the grids of the Elo-MMR paper, and spaces for the other systems.

Source: Ebtekar and Liu, "An Elo-like System for Massive Multiplayer Competitions" (arXiv:2101.00400), and its engine's
search. ``_log_spaced(lo, hi, m, step)`` is its notation: m points in geometric progression, each rounded to a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

Setting = dict[str, Any]


def _log_spaced(low: float, high: float, m: int, step: float) -> list[float]:
    ratio = (high / low) ** (1.0 / (m - 1))
    digits = max(-math.floor(math.log10(step)), 0)
    found = [round(float(round(low * ratio**i / step) * step), digits) for i in range(m)]
    return list(dict.fromkeys(value for value in found if value > 0))


_BETA = _log_spaced(30, 600, 15, 5)
_DRIFT = _log_spaced(5, 80, 12, 1)
_LIMITS = {
    "weight_limit": _log_spaced(0.01, 2, 15, 0.01),
    "sig_limit": _log_spaced(20, 160, 10, 5),
    "tie_mode": ("full", "split"),
}

GRIDS: dict[str, dict[str, Sequence[Any]]] = {
    "elo-mmr": _LIMITS | {"rho": (0.0, 0.04, 0.2, 1.0, 5.0, math.inf)},
    "elo-mmx": _LIMITS,
    "cf-general": {"beta": _BETA, "weight": _log_spaced(0.05, 10, 12, 0.01)},
    "topcoder": {"weight_noob": _log_spaced(0.3, 0.9, 8, 0.01)},  # and a range of limits for each
    "trueskill": {
        "model": ("place",), "convention": ("half_variance",), "eps": _log_spaced(0.1, 100, 10, 0.1), "beta": _BETA,
        "tau": _DRIFT,
    },
    "glicko-allpairs": {"beta": _BETA, "sig_drift": _DRIFT},
    "bar": {"beta": _BETA, "sig_drift": _DRIFT},
}  # fmt: skip


def published_grid(system: str) -> list[Setting]:
    """Every set of hyperparameters of a system's grid."""
    if system not in GRIDS:
        raise ValueError(
            f"there is no published grid for {system}, only for {', '.join(GRIDS)}; give values, as k=10,20,40"
        )
    axes = GRIDS[system]
    points = [dict(zip(axes, point, strict=True)) for point in product(*axes.values())]
    if system != "topcoder":
        return points
    limits = {noob: _log_spaced(0.1 * noob, noob, 12, 0.01) for noob in axes["weight_noob"]}
    return [one | {"weight_limit": limit} for one in points for limit in limits[one["weight_noob"]]]


# The same grids as ranges, for random and Bayesian searches, in the notation of --space.
RANGES: dict[str, tuple[str, ...]] = {
    "elo-mmr": ("weight_limit=0.01:2:log", "sig_limit=20:160:log", "tie_mode=full,split", "rho=0,0.04,0.2,1,5,inf"),
    "elo-mmx": ("weight_limit=0.01:2:log", "sig_limit=20:160:log", "tie_mode=full,split"),
    "cf-general": ("beta=30:600:log", "weight=0.05:10:log"),
    "topcoder": ("weight_noob=0.3:0.9:log", "weight_limit=0.03:0.9:log"),
    "trueskill": ("model=place", "convention=half_variance", "eps=0.1:100:log", "beta=30:600:log", "tau=5:80:log"),
    "glicko-allpairs": ("beta=30:600:log", "sig_drift=5:80:log"),
    "bar": ("beta=30:600:log", "sig_drift=5:80:log"),
}

# Spaces of the systems that the paper did not tune, in the same notation; the reasons are in docs/evaluation.md.
SPACES: dict[str, tuple[str, ...]] = {
    "elo-mms": (
        "beta=80:220:log:4",
        "skew=1:2:4",
        "lower=logistic,normal",
        "duel=1:4:log:3",
        "resolution=rank,exact",
        "gamma=3:30:log:3",
        "drift_per_day=0:40:3",
        "practice=0:12:3",
        "practice_rounds=10:40:log:2",
        "sigma_init=200:600:log:2",
        "tie_mode=full,split",
    ),
    "elo-r": ("gamma=125:500:log:8", "sigma_star=20:110:log:8", "tie_mode=half,full"),
    "codeforces": ("rule=none,oct2015,r327", "tie_rank=max,avg,min", "need_excludes_self=true,false"),
    "leetcode": ("tie_rank=min,max,avg", "mu_init=1200:1800:7"),
    "atcoder": ("mu_init=400:2000:9", "rounded=true,false"),
    "elo-srm": ("k=60:1200:log:9", "c=0:8:5", "m=4,6.75,10,inf", "alpha=0:1:3"),
    "elo": ("k=4:400:log:21",),
    "glicko": ("sig_drift=5:150:log:9", "sigma_init=100:350:log:6"),
    "glicko2": ("tau=0.2:1.2:6", "vol_init=0.01:0.12:log:6", "sigma_init=100:350:log:6"),
}
