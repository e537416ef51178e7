"""One round of a million distinct places, and how its time grows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from timing import Options, Result, best_of

from flows.engines.base import open_engine
from flows.rounds import rate_rounds
from rating_kernels import SYSTEMS, Beliefs, Rounds

__all__ = ["million"]

SYSTEM = SYSTEMS["elo-mmr"]
PARAMS = SYSTEM.params()

SIZES = {10_000: 9, 100_000: 7, 1_000_000: 5}  # participants, and the best of how many
SEED = 20210725


def million(options: Options) -> Iterator[Result]:
    """Rounds of ten thousand, a hundred thousand and a million, each ten times the one before."""
    taken: dict[int, float] = {}
    with open_engine("threads") as engine:
        for n, repeats in SIZES.items():
            mu, sigma, round = _crowd(n)
            taken[n], _ = best_of(
                repeats,
                lambda beliefs, round=round: rate_rounds(SYSTEM, PARAMS, beliefs, round, engine),
                lambda mu=mu, sigma=sigma: _believe(mu, sigma),
            )
            targets, figures = {}, {"ns_per_participant": taken[n] / n * 1e9}
            what = f"{n:,} distinct places on {engine.workers} threads: {figures['ns_per_participant']:.0f} ns each"
            if n // 10 in taken:
                growth = taken[n] / taken[n // 10]
                figures["growth"] = growth
                what += f"; {growth:.1f}x the time of {n // 10:,}"
            if n == 1_000_000:
                targets = {
                    f"at most 1 s: {taken[n]:.2f} s": taken[n] <= 1.0,
                    f"at most 13x the time of 100,000: {growth:.1f}x": growth <= 13.0,
                }
            yield Result("million", what, taken[n], targets=targets, figures=figures)


def _crowd(n: int) -> tuple[np.ndarray, np.ndarray, Rounds]:
    """Beliefs about ``n`` players, and a round in which each performed as believed, give or take."""
    random = np.random.default_rng(SEED)
    mu, sigma = random.normal(1500.0, 350.0, n), random.uniform(80.0, 350.0, n)
    shown = random.normal(mu, np.hypot(sigma, 200.0))
    places = np.arange(n)
    return mu, sigma, Rounds.from_columns([0, n], np.argsort(-shown), places, places)


def _believe(mu: np.ndarray, sigma: np.ndarray) -> Beliefs:
    beliefs = SYSTEM.newcomers(PARAMS, len(mu))
    beliefs.mu[:], beliefs.sigma[:] = mu, sigma
    for name, column in SYSTEM.state(PARAMS, mu, sigma).items():
        beliefs.state[name][:] = column
    return beliefs
