"""Reference implementation of teams in plain Python: exact sums, bisection, every sum over the others from scratch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """The three hyperparameters of teams."""

    team: str = "mean"
    team_noise: str = "team"
    credit: str = "joint"


@dataclass(frozen=True)
class Team:
    """The law of one team's performance, N(mu, skill + noise), and its members: (mu, sigma, beta, weight) each."""

    mu: float
    skill: float
    noise: float
    members: Sequence[tuple[float, float, float, float]]
    own: bool

    def of_member(self, k: int, perf: float) -> tuple[float, float]:
        """The performance of member ``k``, and the deviation of its noise."""
        mu, _, beta, weight = self.members[k]
        if self.own or len(self.members) == 1:
            return perf, beta
        others = [w * w * sigma * sigma for j, (_, sigma, _, w) in enumerate(self.members) if j != k]
        return mu + (perf - self.mu) / weight, math.sqrt(math.fsum([self.noise, *others])) / weight


def team_of(members: Sequence[tuple[float, float, float]], shares: Sequence[float] | None, options: Options) -> Team:
    """The team of members with ``(mu, sigma, beta)``; without shares they count alike."""
    if options.team == "best":
        mu = level([m[0] for m in members])
        beaten = [1.0 / (1.0 + 10.0 ** ((mu - m[0]) / 400.0)) for m in members]
        weights = [b / math.fsum(beaten) for b in beaten]
    else:
        shares = [1.0] * len(members) if shares is None else shares
        weights = [share / math.fsum(shares) for share in shares]
        mu = math.fsum(w * m[0] for w, m in zip(weights, members, strict=True))
    power = 2 if options.team_noise == "members" else 1
    rows = [(*m, w) for m, w in zip(members, weights, strict=True)]
    skill = math.fsum((w * sigma) ** 2 for _, sigma, _, w in rows)
    noise = math.fsum(w**power * beta**2 for _, _, beta, w in rows)
    return Team(mu, skill, noise, rows, options.credit == "own")


def level(ratings: Sequence[float]) -> float:
    """The level that beats all of these ratings at once half of the time, by bisection."""

    def all_beaten(x: float) -> float:
        return math.fsum(math.log1p(10.0 ** ((mu - x) / 400.0)) for mu in ratings)

    low, high = max(ratings), max(ratings) + 400.0 * math.log10(len(ratings)) + 400.0
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (middle, high) if all_beaten(middle) > math.log(2.0) else (low, middle)
    return low
