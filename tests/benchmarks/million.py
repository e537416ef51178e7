"""One round of a million distinct places, and the growth of its time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from timing import Options, Result, best_of

from ranklake.flows.engines.factory import open_engine
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, Rounds, System
from ranklake.rating_kernels.registry import of_contests

SIZES = {10_000: 9, 100_000: 7, 1_000_000: 5}  # participants, number of repeats
SEED = 20210725


def million(options: Options) -> Iterator[Result]:
    """Rounds of ten thousand, a hundred thousand and a million, each ten times the one before."""
    yield from _grow("million", SYSTEMS["elo-mmr"], _sizes(options, SIZES), at_most=1.0, growth_at_most=13.0)


def systems_million(options: Options) -> Iterator[Result]:
    """A hundred thousand and a million, every system."""
    for system in map(SYSTEMS.__getitem__, of_contests()):
        chain = system.name == "trueskill"  # messages pass along the whole chain of places
        limit, growth = (None, None) if chain else (15.0, 20.0)  # the smaller round fits in the caches
        yield from _grow("systems-million", system, _sizes(options, {100_000: 2, 1_000_000: 2}), limit, growth)


def _sizes(options: Options, sizes: dict[int, int]) -> dict[int, int]:
    return {options.smaller(n): options.repeats(repeats, 2) for n, repeats in sizes.items()}


def _grow(
    name: str, system: System, sizes: dict[int, int], at_most: float | None, growth_at_most: float | None
) -> Iterator[Result]:
    taken: dict[int, float] = {}
    # the simulated ratings are not integers
    params = system.params(arithmetic="real") if system.name == "codeforces" else system.params()
    with open_engine("threads") as engine:
        for n, repeats in sizes.items():
            mu, sigma, round = _crowd(n)
            taken[n], _ = best_of(
                repeats,
                lambda beliefs, round=round: rate_rounds(system, params, beliefs, round, engine),
                lambda mu=mu, sigma=sigma: _believe(system, params, mu, sigma),
            )
            targets, figures = {}, {"ns_per_participant": taken[n] / n * 1e9}
            what = f"{system.name}: {n:,} distinct places on {engine.workers} threads"
            what += f": {figures['ns_per_participant']:.0f} ns each"
            if n // 10 in taken:
                growth = taken[n] / taken[n // 10]
                figures["growth"] = growth
                what += f"; {growth:.1f}x the time of {n // 10:,}"
                if growth_at_most is not None:
                    text = f"at most {growth_at_most:g}x the time of {n // 10:,}: {growth:.1f}x"
                    targets[text] = growth <= growth_at_most
            if n == 1_000_000 and at_most is not None:
                targets[f"at most {at_most:g} s: {taken[n]:.2f} s"] = taken[n] <= at_most
            yield Result(name, what, taken[n], targets=targets, figures=figures, case=f"{system.name} {n}")


def _crowd(n: int) -> tuple[np.ndarray, np.ndarray, Rounds]:
    """Beliefs about ``n`` players, and a round with performances drawn from them."""
    random = np.random.default_rng(SEED)
    mu, sigma = random.normal(1500.0, 350.0, n), random.uniform(80.0, 350.0, n)
    shown = random.normal(mu, np.hypot(sigma, 200.0))
    places = np.arange(n)
    return mu, sigma, Rounds.from_columns([0, n], np.argsort(-shown), places, places)


def _believe(system: System, params: Any, mu: np.ndarray, sigma: np.ndarray) -> Beliefs:
    """A store with these ratings, in the units of the system."""
    beliefs = system.newcomers(params, len(mu))
    unit = params.sigma_init / 350.0
    if unit > 0.0:
        mu, sigma = params.mu_init + (mu - 1500.0) * unit, sigma * unit
        beliefs.sigma[:] = sigma
    beliefs.mu[:], beliefs.n_rounds[:] = mu, 5
    for name, column in system.state(params, mu, beliefs.sigma.copy()).items():
        beliefs.state[name][:] = column
    return beliefs
