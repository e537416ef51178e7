"""Reference implementation of LeetCode's rating in plain Python: sums term by term, roots by bisection.

Source: LeetCode, "New contest rating algorithm" (leetcode.com/discuss/general-discussion/468851). Nothing is shared
with the kernels: no tables, no arrays; sums are exact (:func:`math.fsum`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Standing = tuple[str, int, int]  # player, lo, hi


@dataclass(frozen=True)
class Outcome:
    """One participation: expected place, rating needed for the place that counts, rating after.

    ``slack`` is how far the need moves if the sum changes by one part in 10^12.
    """

    player: str
    expected: float
    need: float
    mu: float
    slack: float


@dataclass
class Twin:
    """All ratings and numbers of contests. ``initial_state`` maps players to rating and earlier contests."""

    tie_rank: str = "min"
    mu_init: float = 1500.0
    initial_state: Mapping[str, tuple[float, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rating = {name: float(rating) for name, (rating, _) in self.initial_state.items()}
        self.contests = {name: contests for name, (_, contests) in self.initial_state.items()}

    def rate(self, standings: Sequence[Standing]) -> list[Outcome]:
        """One contest."""
        ratings = [self.rating.setdefault(name, self.mu_init) for name, _, _ in standings]
        outcomes = [self._outcome(row, ratings) for row in standings]
        for outcome in outcomes:
            self.rating[outcome.player] = outcome.mu
            self.contests[outcome.player] = self.contests.get(outcome.player, 0) + 1
        return outcomes

    def _outcome(self, row: Standing, ratings: Sequence[float]) -> Outcome:
        name, lo, hi = row
        mu = self.rating[name]
        place = {"min": lo + 1.0, "avg": (lo + hi) / 2 + 1.0, "max": hi + 1.0}[self.tie_rank]
        expected = math.fsum([0.5, *(_beats(r, mu) for r in ratings)])
        m = math.sqrt(expected * place)
        need, slack = (mu, 0.0) if len(ratings) == 1 else _level(ratings, m)
        factor = 1 / (1 + math.fsum((5 / 7) ** t for t in range(self.contests.get(name, 0) + 1)))
        return Outcome(name, expected, need, mu + factor * (need - mu), slack)


def _beats(one: float, other: float) -> float:
    """Probability that a player rated ``one`` finishes before a player rated ``other``."""
    power = 10.0 ** (-abs(one - other) / 400)
    return 1 / (1 + power) if one >= other else power / (1 + power)


def _level(ratings: Sequence[float], m: float) -> tuple[float, float]:
    """The level R with 1 + sum of the chances of all players against R equal to ``m``, and its slack."""
    reach = 400 * math.log10(4 * len(ratings) / min(m - 1, 1.0)) + 400
    low, high = min(ratings) - reach, max(ratings) + reach
    while low < (middle := low + (high - low) / 2) < high:
        if math.fsum([1 - m, *(_beats(r, middle) for r in ratings)]) > 0:
            low = middle
        else:
            high = middle
    slope = math.fsum(_beats(r, low) * _beats(low, r) for r in ratings) * math.log(10) / 400
    return low, 1e-12 * m / slope
