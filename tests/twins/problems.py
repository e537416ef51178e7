"""Difficulties of problems and ratings from problems, by bisection of the equations as printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import fsum

DECADE = 400.0
RATE = math.log(10.0) / DECADE


def chance(rate: float, lead: float) -> float:
    """The chance of a solve by a player who is ``lead`` points above the difficulty."""
    return 1.0 / (1.0 + math.exp(-rate * lead)) if rate * lead > -700.0 else 0.0


def difficulty(ratings: Sequence[float], shares: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """The difficulty of a problem and its deviation."""
    mean = fsum(w * r for r, w in zip(ratings, weights, strict=True)) / fsum(weights)
    terms = [*zip(ratings, weights, strict=True), (mean, 2.0)]
    solved = fsum(w * y for y, w in zip(shares, weights, strict=True)) + 1.0
    root = bisect(lambda d: fsum(w * chance(RATE, r - d) for r, w in terms) - solved, min(ratings), max(ratings))
    spread = fsum(w * (q := chance(RATE, r - root)) * (1.0 - q) for r, w in terms)
    return root, 1.0 / (RATE * math.sqrt(spread))


def player(mu: float, sigma: float, rows: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """The rating from problems (difficulty, share solved, deviation of the difficulty), and its deviation."""
    problems = [(d, y, RATE / math.sqrt(1.0 + 3.0 * (RATE * s / math.pi) ** 2)) for d, y, s in rows]

    def slope(r: float) -> float:
        return (mu - r) / sigma**2 + fsum(k * (y - chance(k, r - d)) for d, y, k in problems)

    root = bisect(slope, mu, mu)
    curvature = fsum(k * k * (q := chance(k, root - d)) * (1.0 - q) for d, _, k in problems)
    return root, 1.0 / math.sqrt(1.0 / sigma**2 + curvature)


def bisect(falling: Callable[[float], float], low: float, high: float) -> float:
    """The zero of a falling function, searched from an interval on."""
    while falling(low) < 0.0:
        low -= 100.0
    while falling(high) > 0.0:
        high += 100.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if falling(middle) > 0.0 else (low, middle)
    return 0.5 * (low + high)
