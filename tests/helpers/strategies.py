"""Hypothesis strategies: rounds with ties, beliefs young and old, extreme ratings and weights.

All values are plain Python: players are names (or any values given), a standing is ``(player, lo, hi)`` with zero-based
inclusive places. ``@repeatable(n)`` above ``@given`` makes a test try the same ``n`` examples on every run.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

__all__ = [
    "POOL",
    "Belief",
    "Contest",
    "beliefs",
    "contests",
    "elo_mmr_params",
    "elo_mms_params",
    "histories",
    "places",
    "populations",
    "ratings",
    "repeatable",
    "sigmas",
    "standings",
]

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


def repeatable(max_examples: int) -> settings:
    """Settings for a test that tries the same examples on every run and on every machine."""
    return settings(
        max_examples=max_examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@st.composite
def places(draw: st.DrawFn, n: int) -> list[tuple[int, int]]:
    """Places of ``n`` positions, best first: tie groups of any sizes, everyone apart and everyone tied among them."""
    how = draw(st.sampled_from(["mixed", "apart", "tied"]))
    if how == "mixed":
        tied = draw(st.lists(st.booleans(), min_size=n - 1, max_size=n - 1))  # with the one before?
    else:
        tied = [how == "tied"] * (n - 1)
    starts = [i for i in range(n) if i == 0 or not tied[i - 1]] + [n]
    return [(lo, after - 1) for lo, after in pairwise(starts) for _ in range(lo, after)]


@st.composite
def standings(
    draw: st.DrawFn, pool: Sequence[Hashable] = POOL, min_size: int = 1, max_size: int | None = None
) -> list[Standing]:
    """One round: some of ``pool``, in any order, with ties."""
    n = draw(st.integers(min_size, len(pool) if max_size is None else max_size))
    order = draw(st.permutations(pool))[:n]
    return [(player, lo, hi) for player, (lo, hi) in zip(order, draw(places(n)), strict=True)]


def ratings(extreme: bool = False) -> st.SearchStrategy[float]:
    """Ratings that people have; with ``extreme`` also 0 and 5000, and what lies a little beyond."""
    usual = st.floats(600, 3000)
    return usual | st.sampled_from([0.0, 1500.0, 5000.0]) | st.floats(-500, 6000) if extreme else usual


def sigmas(extreme: bool = False) -> st.SearchStrategy[float]:
    """Uncertainties of newcomers and of veterans; with ``extreme`` also tiny and huge ones."""
    usual = st.floats(60, 350)
    return usual | st.sampled_from([0.01, 1.0, 350.0, 1000.0]) if extreme else usual


@st.composite
def beliefs(draw: st.DrawFn, extreme: bool = False, max_performances: int = 5) -> Belief:
    """A belief young (one normal factor, no rounds) or old (many rounds, some late performances still its own)."""
    old = draw(st.booleans())
    mu, sigma = draw(ratings(extreme)), draw(sigmas(extreme))
    if not old:
        return Belief(mu, sigma, 0)
    shown = st.floats(-800, 800).map(lambda surprise: mu + surprise)
    recent = draw(st.lists(shown, max_size=max_performances))
    return Belief(mu, sigma, draw(st.integers(len(recent), 200)), tuple(recent))


@st.composite
def populations(
    draw: st.DrawFn, pool: Sequence[Hashable] = POOL, extreme: bool = False, max_performances: int = 5
) -> dict[Any, Belief]:
    """Beliefs about some of ``pool``; the others are newcomers."""
    known = draw(st.lists(st.sampled_from(list(pool)), unique=True))
    return {player: draw(beliefs(extreme, max_performances)) for player in known}


@st.composite
def contests(draw: st.DrawFn, pool: Sequence[Hashable] = POOL, time: int = 0, min_size: int = 1) -> Contest:
    """One round with its weight and ceiling; most count once and are open above."""
    weight = draw(st.just(1.0) | st.sampled_from([0.05, 0.5, 2.5, 20.0]) | st.floats(0.1, 10))
    ceiling = draw(st.just(math.inf) | st.sampled_from([0.0, 1650.0]) | st.floats(1000, 3000))
    return Contest(draw(standings(pool, min_size)), time, weight, ceiling)


@st.composite
def histories(
    draw: st.DrawFn, pool: Sequence[Hashable] = POOL, max_rounds: int = 6, min_size: int = 1
) -> list[Contest]:
    """Several rounds over one small pool: players come and go; clocks advance, stand still, seldom go back."""
    steps = st.sampled_from([DAY, 5 * DAY, 0, 3600, 400 * DAY, -1800, -6 * DAY]) | st.integers(0, 30 * DAY)
    time, rounds = 1_000_000, []
    for _ in range(draw(st.integers(1, max_rounds))):
        rounds.append(draw(contests(pool, time, min_size)))
        time += draw(steps)
    return rounds


@st.composite
def elo_mmr_params(draw: st.DrawFn, gaussian: bool = False) -> dict[str, Any]:
    """Hyperparameters of Elo-MMR, spelled as in the package: both parametrisations, delays, drift with limits.

    ``gaussian`` leaves out what Elo-MMchi has no use for: ``rho`` and ``history_len``.
    """
    params: dict[str, Any] = {"tie_mode": draw(st.sampled_from(["full", "split"]))}
    if not gaussian:
        params["rho"] = draw(st.sampled_from([1.0, 0.0, 0.04, 5.0, math.inf]) | st.floats(0, 10))
        params["history_len"] = draw(st.none() | st.integers(1, 4))
    if draw(st.booleans()):
        params["beta"] = draw(st.sampled_from([200.0, 30.0, 1000.0]) | st.floats(50, 600))
        params["gamma"] = draw(st.sampled_from([35.0, 0.0, 300.0]) | st.floats(1, 150))
    else:
        params["weight_limit"] = draw(st.sampled_from([0.2, 0.01, 2.0]) | st.floats(0.02, 2))
        params["sig_limit"] = draw(st.sampled_from([80.0, 20.0, 160.0]) | st.floats(20, 160))
        params["drift_per_day"] = draw(st.sampled_from([0.0, 3.5, 50.0]) | st.floats(0, 100))
    params["noob_delay"] = tuple(draw(st.sampled_from([[], [0.6, 0.8]]) | st.lists(st.floats(0.1, 1), max_size=4)))
    if draw(st.booleans()):
        params["mu_init"], params["sigma_init"] = draw(st.sampled_from([(1600.0, 280.0), (0.0, 50.0), (1500.0, 900.0)]))
    return params


@st.composite
def elo_mms_params(draw: st.DrawFn) -> dict[str, Any]:
    """Hyperparameters of Elo-MMS: both lower sides, with and without skew, practice and drift."""
    return {
        "beta": draw(st.sampled_from([130.0, 30.0, 1000.0]) | st.floats(50, 600)),
        "skew": draw(st.sampled_from([1.4, 1.0, 5.0]) | st.floats(1, 3)),
        "lower": draw(st.sampled_from(["logistic", "normal"])),
        "gamma": draw(st.sampled_from([12.0, 0.0, 100.0]) | st.floats(1, 50)),
        "drift_per_day": draw(st.sampled_from([12.0, 0.0, 200.0]) | st.floats(0, 100)),
        "practice": draw(st.sampled_from([8.0, 0.0, 60.0]) | st.floats(0, 30)),
        "practice_rounds": draw(st.sampled_from([20.0, 0.5, 1000.0]) | st.floats(1, 100)),
        "tie_mode": draw(st.sampled_from(["full", "split"])),
    }
