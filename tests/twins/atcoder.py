"""Reference implementation of AtCoder's rating in plain Python: every mean from the whole list of performances.

Source: AtCoder, "AtCoder Rating System ver. 1.00". Nothing is shared with the kernels: no tables, no arrays, no running
means; sums are exact (:func:`math.fsum`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

Standing = tuple[str, int, int]  # player, lo, hi


def average(performances: Sequence[float]) -> float:
    """The mean of performances, oldest first, with weights 0.9^age."""
    weights = _weights(len(performances))
    return math.fsum(w * p for w, p in zip(weights, performances, strict=True)) / math.fsum(weights)


def level(performances: Sequence[float]) -> float:
    """The mean of 2^(P / 800) with the same weights, as a performance; relative to the best, so that none overflows."""
    weights, best = _weights(len(performances)), max(performances)
    powers = (w * 2 ** ((p - best) / 800) for w, p in zip(weights, performances, strict=True))
    return best + 800 * math.log2(math.fsum(powers) / math.fsum(weights))


def deduction(n: int) -> float:
    """f(n) for n contests."""

    def spread(n: int) -> float:
        return math.sqrt(math.fsum(0.81**i for i in range(1, n + 1))) / math.fsum(0.9**i for i in range(1, n + 1))

    limit = spread(1000)  # the rest of the sums is below 1e-45
    return 1200 * (spread(n) - limit) / (spread(1) - limit)


def rating(performances: Sequence[float]) -> float:
    """The rating on the site, not rounded."""
    straight = level(performances) - deduction(len(performances))
    return straight if straight >= 400 else 400 * math.exp((straight - 400) / 400)


@dataclass(frozen=True)
class Outcome:
    """One participation: average before, performance before rounding and cap, performance after, level, rating."""

    player: str
    average: float
    exact: float
    perf: float
    level: float
    rating: float


@dataclass
class Twin:
    """All performances of all players, uncapped and capped."""

    center: float = 1200.0
    rounded: bool = True
    uncapped: dict[str, list[float]] = field(default_factory=dict)
    capped: dict[str, list[float]] = field(default_factory=dict)

    def rate(self, standings: Sequence[Standing], ceiling: float = math.inf) -> list[Outcome]:
        """One contest."""
        before = {
            name: average(self.uncapped[name]) if name in self.uncapped else self.center for name, _, _ in standings
        }
        outcomes = []
        for name, lo, hi in standings:
            exact = _performance(list(before.values()), (lo + hi) / 2 + 1)
            inner = math.floor(exact + 0.5) if self.rounded else exact
            self.uncapped.setdefault(name, []).append(inner)
            shown = self.capped.setdefault(name, [])
            shown.append(min(inner, ceiling))
            outcomes.append(Outcome(name, before[name], exact, shown[-1], level(shown), rating(shown)))
        return outcomes


def _weights(n: int) -> list[float]:
    return [0.9 ** (n - i) for i in range(n)]  # the newest has age 1


def _performance(averages: Sequence[float], place: float) -> float:
    """The level with place - 1/2 expected participants above it."""
    reach = 400 * math.log(4 * len(averages)) / math.log(6) + 400
    low, high = min(averages) - reach, max(averages) + reach
    while low < (middle := low + (high - low) / 2) < high:
        if math.fsum([0.5 - place, *(_beats(a, middle) for a in averages)]) > 0:
            low = middle
        else:
            high = middle
    return low


def _beats(one: float, other: float) -> float:
    power = 6.0 ** (-abs(one - other) / 400)
    return 1 / (1 + power) if one >= other else power / (1 + power)
