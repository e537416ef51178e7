"""Reference implementation of DMOJ's ratings in plain Python, with the roots as its program computes them.

Source: DMOJ/online-judge, ``judge/ratings.py``: Elo-MMR of rho 1 with half wins for ties, where the variance of a
belief depends on the number of contests alone. A root is bisected to an interval of ``width`` points, 2 in DMOJ's
program, and interpolated in it. Of the performances in a contest the first and the last are searched in the whole
range, and every other one between two known ones. Nothing is shared with the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Standing = tuple[str, int, int]  # player, lo, hi

NOISE = 328.33**2  # variance of a performance
DRIFT = 1219.047619 * NOISE / 212**2  # variance that a contest adds
VARIANCE_LIMIT = (math.sqrt(DRIFT**2 + 4 * NOISE * DRIFT) - DRIFT) / 2
_MEAN, _VARIANCE = 1500.0, 350**2 * NOISE / 212**2  # of newcomers
_RANGE = _MEAN - 20 * math.sqrt(_VARIANCE), _MEAN + 20 * math.sqrt(_VARIANCE)
_SCALE = math.sqrt(3) / math.pi  # of a logistic law of variance 1


@dataclass
class Player:
    """The mean of the belief and all performances, newest first."""

    mean: float = _MEAN
    performances: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Outcome:
    """One participation: performance, mean after, rating on the site."""

    player: str
    perf: float
    mean: float
    rating: int


def variance(n: int) -> float:
    """The variance of a belief after so many contests."""
    found = _VARIANCE
    for _ in range(n):
        found = 1 / (1 / (found + DRIFT) + 1 / NOISE)
    return found


@dataclass
class Twin:
    """All players. ``width`` is the interval at which a bisection ends, rating points."""

    width: float = 2.0
    players: dict[str, Player] = field(default_factory=dict)

    def rate(self, standings: Sequence[Standing], ceiling: float = math.inf) -> list[Outcome]:
        """One contest of two or more participants, best first."""
        known = [self.players.setdefault(name, Player()) for name, _, _ in standings]
        performances = self._performances(standings, known)
        outcomes = []
        for (name, _, _), player, shown in zip(standings, known, performances, strict=True):
            perf, n = min(shown, ceiling), len(player.performances) + 1
            player.mean = self._mean(player, perf)
            player.performances.insert(0, perf)
            rating = max(1, round(player.mean - math.sqrt(variance(n)) + math.sqrt(VARIANCE_LIMIT)))
            outcomes.append(Outcome(name, perf, player.mean, rating))
        return outcomes

    def _performances(self, standings: Sequence[Standing], known: Sequence[Player]) -> list[float]:
        spread = [_SCALE * math.sqrt(variance(len(one.performances)) + DRIFT + NOISE) for one in known]
        terms = [(one.mean, s, 1 / s) for one, s in zip(known, spread, strict=True)]
        found = [0.0] * len(standings)

        def solve(i: int, low: float, high: float) -> None:
            _, lo, hi = standings[i]
            target = math.fsum(1 / s for s in spread[hi + 1 :]) - math.fsum(1 / s for s in spread[:lo])
            found[i] = self._root(lambda x: _pull(terms, x), target, low, high)

        def between(i: int, j: int) -> None:
            if j - i > 1:
                middle = (i + j) // 2
                solve(middle, found[j], found[i])
                between(i, middle)
                between(middle, j)

        solve(0, *_RANGE)
        solve(len(found) - 1, *_RANGE)
        between(0, len(found) - 1)
        return found

    def _mean(self, player: Player, perf: float) -> float:
        """The root of a normal factor and all logistic ones; the old mean was the root without the newest."""
        n, weight, weights = len(player.performances), 1.0, [1.0]
        for age in range(n):
            old = variance(n - age)
            weight *= (old / (old + DRIFT)) ** 2
            weights.append(weight)
        spread, all_performances = math.sqrt(NOISE) * _SCALE, [perf, *player.performances]
        terms = [(p, spread, w / spread) for p, w in zip(all_performances, weights, strict=True)]
        normal = 1 / variance(n + 1) - math.fsum(weights) / NOISE
        target = normal * player.mean + _pull(terms[1:], player.mean)
        return self._root(lambda x: normal * x + _pull(terms, x), target, *_RANGE)

    def _root(self, sum_at: Callable[[float], float], target: float, low: float, high: float) -> float:
        while high - low > self.width:
            middle = (low + high) / 2
            if not low < middle < high:
                return middle
            low, high = (low, middle) if sum_at(middle) > target else (middle, high)
        below, above = sum_at(low), sum_at(high)
        if not below < target < above:  # the same place as a known one
            return low if target <= below else high
        return low + (target - below) / (above - below) * (high - low)


def _pull(terms: Sequence[tuple[float, float, float]], x: float) -> float:
    return math.fsum(weight * math.tanh((x - mean) / (2 * spread)) for mean, spread, weight in terms)
