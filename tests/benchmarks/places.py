"""Intervals of places: their time for all players of Codeforces, and how many contain the true place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from timing import Options, Result, best_of

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.results.places import RULES, Floats, Z, intervals, places, tiers
from ranklake.rating_kernels import SYSTEMS, Beliefs, Rounds
from ranklake.rating_kernels.core.standings import places_from_ranks

PLAYERS = 358_554  # of Codeforces
SKILL, NOISE, DRIFT = 300.0, 200.0, 35.0  # deviations, rating points
TARGET = 0.2  # seconds


def sureness(options: Options) -> Iterator[Result]:
    """The intervals of both rules and the tiers of many players; the share of players whose true place they contain."""
    draw, n = np.random.default_rng(0), options.smaller(PLAYERS)
    mu, sigma = draw.normal(1500.0, SKILL, n), draw.uniform(40.0, 200.0, n)
    for rule in RULES:
        seconds, _ = best_of(options.repeats(9), lambda _, rule=rule: intervals(mu, sigma, Z, rule))
        met = {f"within {TARGET} s": seconds < TARGET}
        yield Result("places", f"{rule}, {n:,} players", seconds, targets=met, case=rule)
    seconds, _ = best_of(options.repeats(9), lambda _: tiers(mu, sigma))
    yield Result("places", f"tiers, {n:,} players", seconds, case="tiers")
    for name, share in coverage(options.smaller(2_000), options.least(60)).items():
        yield Result("places", f"{name}: {share:.1%}", figures={"share": share}, case=name)


def coverage(n_players: int, n_rounds: int, seed: int = 0) -> dict[str, float]:
    """Of a simulated history, rated with its true parameters: the share of true places, and of differences of skills,
    within their intervals of 95 %, and the mean width of the intervals as a share of all places.
    """
    skill, beliefs = simulated(n_players, n_rounds, seed)
    met = beliefs.n_rounds > 0
    mu, sigma, skill = beliefs.mu[met], beliefs.sigma[met], skill[met]
    true, found = places(skill), {}
    for rule in RULES:
        high, low = intervals(mu, sigma, Z, rule)
        found[rule] = float(np.mean((high <= true) & (true <= low)))
        found[f"width of {rule}"] = float(np.mean(low - high + 1) / len(mu))
    one, other = np.random.default_rng(seed).integers(0, len(mu), (2, 50 * len(mu)))
    one, other = one[one != other], other[one != other]
    away = (skill[one] - skill[other]) - (mu[one] - mu[other])
    found["difference"] = float(np.mean(np.abs(away) <= Z * np.hypot(sigma[one], sigma[other])))
    return found


def simulated(n_players: int, n_rounds: int, seed: int) -> tuple[Floats, Beliefs]:
    """The skills after rounds of 15 % of the players, whose skills drift before, and the beliefs about them."""
    draw, size = np.random.default_rng(seed), max(int(0.15 * n_players), 2)
    skill, parts = draw.normal(1500.0, SKILL, n_players), []
    for _ in range(n_rounds):
        who = draw.permutation(n_players)[:size]
        skill[who] += draw.normal(0.0, DRIFT, size)
        order, lo, hi = places_from_ranks(-(skill[who] + draw.normal(0.0, NOISE, size)))
        parts.append((who[order], lo, hi))
    player, lo, hi = (np.concatenate(column).astype(np.int32) for column in zip(*parts, strict=True))
    rounds = Rounds.from_columns(np.arange(n_rounds + 1) * size, player, lo, hi, np.arange(n_rounds))
    system = SYSTEMS["elo-mmx"]
    params = system.params(beta=NOISE, gamma=DRIFT, sigma_init=SKILL)
    beliefs = system.newcomers(params, n_players)
    rate_rounds(system, params, beliefs, rounds, Serial())
    return skill, beliefs
