"""How common draws are and what the advantage is worth, learnt from a million games."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from timing import Options, Result, best_of

from ranklake.rating_kernels.chances.fit import Learnt, Played, fit
from ranklake.rating_kernels.chances.games import Leads
from ranklake.rating_kernels.chances.three_way import three_way

GAMES, LEAST, GROWTH = 1_000_000, 20, 1.1  # of all games; of the first fit; of the games between two fits
NU, ADVANTAGE, SEED, SECONDS = 0.8, 60.0, 20260926, 1.0


def chances(options: Options) -> Iterator[Result]:
    """One fit to all games, and the refits of a run."""
    n = options.smaller(GAMES)
    played = _games(n)
    seconds, found = best_of(options.repeats(5, 2), lambda _: fit(played))
    each = 1e9 * seconds / (n * found.iterations)
    error = (found.advantage - ADVANTAGE) / found.advantage_error
    what = f"fit of {n:,} games of elo: {found.iterations} iterations, {each:.1f} ns a game and iteration"
    targets = {f"within {SECONDS:g} s: {seconds:.2f} s": seconds <= SECONDS, "finds the advantage": abs(error) < 4.0}
    yield Result("chances", what, seconds, targets=targets, figures={"ns": each}, case="one fit")
    seconds, fits = best_of(options.repeats(3), lambda _: _refits(played))
    yield Result("chances", f"{len(fits)} refits of a run of {n:,} games", seconds, case="refits")


def _refits(played: Played) -> list[Learnt]:
    fits: list[Learnt] = []
    games, n = played.games, LEAST
    assert isinstance(games, Leads)
    while n <= len(played.result):
        part = Played(Leads(games.lead[:n], games.rate), played.result[:n])
        fits.append(fit(part, start=fits[-1] if fits else None))
        n = math.ceil(GROWTH * n)
    return fits


def _games(n: int) -> Played:
    """Games of known parameters."""
    random, rate = np.random.default_rng(SEED), np.full(1, math.log(10.0) / 400.0)
    lead = random.normal(0.0, 200.0, n)
    x = rate * (lead + ADVANTAGE)
    win, draw, _ = three_way(1.0 / (1.0 + np.exp(-x)), 1.0 / (1.0 + np.exp(x)), NU)
    drawn = random.random(n)
    return Played(Leads(lead, rate), np.where(drawn < win, 1, np.where(drawn < win + draw, 0, -1)).astype(np.int8))
