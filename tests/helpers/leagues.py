"""Helpers of the Glicko and Glicko-2 tests: beliefs by name, fields, games."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from helpers.histories import set_ratings
from helpers.strategies import POOL, Belief
from hypothesis import strategies as st

from ranklake.rating_kernels import Beliefs, Rounds, System

Field = tuple[Any, Any, Any]  # mu, sigma, lo


def believed(system: System, params: Any, people: Mapping[str, Belief]) -> Beliefs:
    """A store with a row for each of :data:`strategies.POOL`, with the beliefs ``people``."""
    beliefs = system.newcomers(params, len(POOL))
    for name, known in people.items():
        set_ratings(system, params, beliefs, [POOL.index(name)], known.mu, known.sigma, known.n)
    return beliefs


def games() -> st.SearchStrategy[list[tuple[str, str, float]]]:
    """Games of one period: any pairs, some of them often, wins, draws and shares."""
    pair = st.permutations(POOL).map(lambda names: names[:2])
    score = st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0, 1)
    return st.lists(st.tuples(pair, score).map(lambda game: (*game[0], game[1])), min_size=1, max_size=12)


def crowd(n: int, sigmas: tuple[float, float] = (30.0, 350.0), seed: int = 5) -> Field:
    """Players in the order of a skill correlated with their ratings; a third tie with the one before."""
    draw = np.random.default_rng(seed)
    mu, sigma = draw.normal(1500, 400, n), draw.uniform(*sigmas, n)
    order = np.argsort(-mu - draw.normal(0, 300, n))
    group = np.cumsum(draw.random(n) > 0.3)
    return mu[order], sigma[order], np.searchsorted(group, group, "left").astype(np.int32)


def thrown(n: int, reach: float, sigma_reach: float, seed: int = 7) -> Field:
    """A field in which one in six players is up to ``reach`` away, some of these with a large sigma."""
    mu, sigma, lo = crowd(n, seed=seed)
    draw = np.random.default_rng(seed)
    far = np.flatnonzero(draw.random(n) < 1 / 6)
    mu[far] += draw.choice([-1.0, 1.0], len(far)) * 10 ** draw.uniform(3, np.log10(reach), len(far))
    vague = far[::2]
    sigma[vague] = 10 ** draw.uniform(2, np.log10(sigma_reach), len(vague))
    return mu, sigma, lo


def round_of(lo: Any) -> Rounds:
    """One round of players 0, 1, 2, ... in these places."""
    hi = np.searchsorted(lo, lo, "right") - 1
    return Rounds.from_columns([0, len(lo)], np.arange(len(lo)), lo, hi)


def direct_pairwise_sums(field: Field, q: float) -> tuple[Any, Any]:
    """Surprise and information of all players, pair by pair."""
    mu, sigma, lo = field
    n = len(mu)
    g = 1 / np.sqrt(1 + 3 * (q * sigma / np.pi) ** 2)
    surprise, information = np.empty(n), np.empty(n)
    for i in range(n):
        z = np.clip(q * g * (mu[i] - mu), -700, 700)
        expected = 1 / (1 + np.exp(-z))
        scored = np.where(lo > lo[i], 1.0, np.where(lo < lo[i], 0.0, 0.5))
        scores = g * np.where(scored == 1.0, 1 / (1 + np.exp(z)), scored - expected)
        known = g * g / ((1 + np.exp(z)) * (1 + np.exp(-z)))
        scores[i] = known[i] = 0.0
        surprise[i], information[i] = scores.sum(), known.sum()
    return surprise, information
