"""Hypothesis strategies: rounds with ties, beliefs young and old, extreme ratings and weights.

All values are plain Python: players are names (or any values given), a standing is ``(player, lo, hi)`` with zero-based
inclusive places. ``@repeatable(n)`` above ``@given`` makes a test try the same ``n`` examples on every run. Strategies
of fixed values are constants: to make and check one takes longer than to draw from it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

Standing = tuple[Any, int, int]

POOL = tuple(f"p{i}" for i in range(8))
DAY = 86_400


@dataclass(frozen=True)
class Contest:
    """One round of a history."""

    standings: list[Standing]
    time: int = 0
    weight: float = 1.0
    perf_ceiling: float = math.inf


@dataclass(frozen=True)
class Belief:
    """What is known of a player beforehand: ``n`` rounds ago a newcomer, and the performances shown lately."""

    mu: float
    sigma: float
    n: int
    performances: tuple[float, ...] = ()

    @property
    def state(self) -> dict[str, float]:
        """As ``initial_state`` spells it."""
        return {"mu": self.mu, "sig": self.sigma, "n": self.n}


divisor = 1  # of the numbers of examples


def repeatable(max_examples: int) -> settings:
    """Settings for a test that tries the same examples on every run and on every machine."""
    return settings(
        max_examples=max(max_examples // divisor, 5),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


_BOOLEANS = st.booleans()
_HOW = st.sampled_from(["mixed", "apart", "tied"])
_RATINGS = st.floats(600, 3000)  # that people have
_EXTREME_RATINGS = _RATINGS | st.sampled_from([0.0, 1500.0, 5000.0]) | st.floats(-500, 6000)
_SIGMAS = st.floats(60, 350)
_EXTREME_SIGMAS = _SIGMAS | st.sampled_from([0.01, 1.0, 350.0, 1000.0])
_SURPRISES = st.floats(-800, 800)
_WEIGHTS = st.just(1.0) | st.sampled_from([0.05, 0.5, 2.5, 20.0]) | st.floats(0.1, 10)
_CEILINGS = st.just(math.inf) | st.sampled_from([0.0, 1650.0]) | st.floats(1000, 3000)
_STEPS = st.sampled_from([DAY, 5 * DAY, 0, 3600, 400 * DAY, -1800, -6 * DAY]) | st.integers(0, 30 * DAY)


@st.composite
def places(draw: st.DrawFn, n: int) -> list[tuple[int, int]]:
    """Places of ``n`` positions, best first: tie groups of any sizes, everyone apart and everyone tied among them."""
    how = draw(_HOW)
    tied = draw(_flags(n - 1)) if how == "mixed" else [how == "tied"] * (n - 1)  # with the one before?
    starts = [i for i in range(n) if i == 0 or not tied[i - 1]] + [n]
    return [(lo, after - 1) for lo, after in pairwise(starts) for _ in range(lo, after)]


@cache
def _flags(n: int) -> st.SearchStrategy[list[bool]]:
    return st.lists(_BOOLEANS, min_size=n, max_size=n)


@cache
def _orders(pool: tuple[Hashable, ...]) -> st.SearchStrategy[list[Hashable]]:
    return st.permutations(pool)


@st.composite
def standings(
    draw: st.DrawFn, pool: Sequence[Hashable] = POOL, min_size: int = 1, max_size: int | None = None
) -> list[Standing]:
    """One round: some of ``pool``, in any order, with ties."""
    n = draw(st.integers(min_size, len(pool) if max_size is None else max_size))
    order = draw(_orders(tuple(pool)))[:n]
    return [(player, lo, hi) for player, (lo, hi) in zip(order, draw(places(n)), strict=True)]


def ratings(extreme: bool = False) -> st.SearchStrategy[float]:
    """Ratings that people have; with ``extreme`` also 0 and 5000, and what lies a little beyond."""
    return _EXTREME_RATINGS if extreme else _RATINGS


def sigmas(extreme: bool = False) -> st.SearchStrategy[float]:
    """Uncertainties of newcomers and of veterans; with ``extreme`` also tiny and huge ones."""
    return _EXTREME_SIGMAS if extreme else _SIGMAS


@st.composite
def beliefs(draw: st.DrawFn, extreme: bool = False, max_performances: int = 5) -> Belief:
    """A belief young (one normal factor, no rounds) or old (many rounds, some late performances still its own)."""
    old = draw(_BOOLEANS)
    mu, sigma = draw(ratings(extreme)), draw(sigmas(extreme))
    if not old:
        return Belief(mu, sigma, 0)
    recent = [mu + surprise for surprise in draw(_surprises(max_performances))]
    return Belief(mu, sigma, draw(st.integers(len(recent), 200)), tuple(recent))


@cache
def _surprises(max_size: int) -> st.SearchStrategy[list[float]]:
    return st.lists(_SURPRISES, max_size=max_size)


@st.composite
def populations(
    draw: st.DrawFn, pool: Sequence[Hashable] = POOL, extreme: bool = False, max_performances: int = 5
) -> dict[Any, Belief]:
    """Beliefs about some of ``pool``; the others are newcomers."""
    belief = beliefs(extreme, max_performances)
    return {player: draw(belief) for player in draw(_some_of(tuple(pool)))}


@cache
def _some_of(pool: tuple[Hashable, ...]) -> st.SearchStrategy[list[Hashable]]:
    return st.lists(st.sampled_from(pool), unique=True)


@st.composite
def contests(draw: st.DrawFn, pool: Sequence[Hashable] = POOL, time: int = 0, min_size: int = 1) -> Contest:
    """One round with its weight and ceiling; most count once and are open above."""
    weight, ceiling = draw(_WEIGHTS), draw(_CEILINGS)
    return Contest(draw(standings(pool, min_size)), time, weight, ceiling)


@st.composite
def histories(
    draw: st.DrawFn, pool: Sequence[Hashable] = POOL, max_rounds: int = 6, min_size: int = 1
) -> list[Contest]:
    """Several rounds over one small pool: players come and go; clocks advance, stand still, seldom go back."""
    time, rounds = 1_000_000, []
    for _ in range(draw(st.integers(1, max_rounds))):
        rounds.append(draw(contests(pool, time, min_size)))
        time += draw(_STEPS)
    return rounds


_TIE_MODES = st.sampled_from(["full", "split"])
_TIE_WEIGHTS = st.sampled_from([0.25, 0.75, 1.0, 0.01]) | st.floats(0.05, 1)
_NOOB_DELAYS = st.sampled_from([[], [0.6, 0.8]]) | st.lists(st.floats(0.1, 1), max_size=4)
_NEWCOMERS = st.sampled_from([(1600.0, 280.0), (0.0, 50.0), (1500.0, 900.0)])
_FACTORS = {
    "rho": st.sampled_from([1.0, 0.0, 0.04, 5.0, math.inf]) | st.floats(0, 10),
    "history_len": st.none() | st.integers(1, 4),
}
_DEVIATIONS = {
    "beta": st.sampled_from([200.0, 30.0, 1000.0]) | st.floats(50, 600),
    "gamma": st.sampled_from([35.0, 0.0, 300.0]) | st.floats(1, 150),
}
_LIMITS = {
    "weight_limit": st.sampled_from([0.2, 0.01, 2.0]) | st.floats(0.02, 2),
    "sig_limit": st.sampled_from([80.0, 20.0, 160.0]) | st.floats(20, 160),
    "drift_per_day": st.sampled_from([0.0, 3.5, 50.0]) | st.floats(0, 100),
}
_ELO_MMS = st.fixed_dictionaries(
    {
        "beta": st.sampled_from([130.0, 30.0, 1000.0]) | st.floats(50, 600),
        "skew": st.sampled_from([1.4, 1.0, 5.0]) | st.floats(1, 3),
        "lower": st.sampled_from(["logistic", "normal"]),
        "duel": st.sampled_from([2.0, 1.0, 10.0]) | st.floats(1, 4),
        "resolution": st.sampled_from(["rank", "exact"]),
        "gamma": st.sampled_from([12.0, 0.0, 100.0]) | st.floats(1, 50),
        "drift_per_day": st.sampled_from([12.0, 0.0, 200.0]) | st.floats(0, 100),
        "practice": st.sampled_from([8.0, 0.0, 60.0]) | st.floats(0, 30),
        "practice_rounds": st.sampled_from([20.0, 0.5, 1000.0]) | st.floats(1, 100),
        "tie_mode": _TIE_MODES,
        "learnt_drift": st.booleans(),
    }
)


def elo_mmr_ties() -> st.SearchStrategy[dict[str, Any]]:
    """What ties count as in Elo-MMR: one of both modes, or weights."""
    modes = st.fixed_dictionaries({"tie_mode": _TIE_MODES})
    return modes | modes | st.fixed_dictionaries({"tie_loss": _TIE_WEIGHTS, "tie_win": _TIE_WEIGHTS})


@st.composite
def elo_mmr_params(draw: st.DrawFn, gaussian: bool = False) -> dict[str, Any]:
    """Hyperparameters of Elo-MMR, spelled as in the package: both parametrisations, delays, drift with limits.

    ``gaussian`` leaves out what Elo-MMchi has no use for: ``rho`` and ``history_len``.
    """
    params = draw(elo_mmr_ties())
    for name, values in () if gaussian else _FACTORS.items():
        params[name] = draw(values)
    for name, values in (_DEVIATIONS if draw(_BOOLEANS) else _LIMITS).items():
        params[name] = draw(values)
    params["noob_delay"] = tuple(draw(_NOOB_DELAYS))
    if draw(_BOOLEANS):
        params["mu_init"], params["sigma_init"] = draw(_NEWCOMERS)
    return params


def elo_mms_params() -> st.SearchStrategy[dict[str, Any]]:
    """Hyperparameters of Elo-MMS: both lower sides and resolutions, with and without skew, practice and drift."""
    return _ELO_MMS
