"""Reference implementation of EloSRM in plain Python: pairwise sums, one player at a time.

Source: "An Elo-based rating system for TopCoder SRM", text and appendix. Nothing is shared with the kernels: no tables,
no arrays; sums are exact (:func:`math.fsum`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Standing = tuple[str, int, int]  # player, lo, hi

K0 = 400 * math.log10(2)


@dataclass(frozen=True)
class Outcome:
    """One participation, with intermediate values named as in the document."""

    player: str
    mu_prior: float
    expected_rank: float
    actual_rank: float
    p: float
    p_prime: float
    delta: float
    mu: float
    next_initial: float


@dataclass
class Twin:
    """All ratings, and the rating of the next newcomer. ``initial_state`` maps players to rating and earlier rounds."""

    k: float = 600.0
    c: float = 4.0
    m: float | None = 6.75
    b: float = 27.0
    n_inflation: float = 63.0
    alpha: float = 0.5
    initial: float = 1200.0
    initial_state: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    ties: str = "half"

    def __post_init__(self) -> None:
        self.rating = {name: float(rating) for name, (rating, _) in self.initial_state.items()}
        self.rounds = {name: rounds for name, (_, rounds) in self.initial_state.items()}
        self.next_initial = self.initial  # R1

    def rate(self, divisions: Sequence[Sequence[Standing]]) -> list[Outcome]:
        """One event: its divisions apart, from the ratings before all of them."""
        for name, _, _ in (row for standings in divisions for row in standings):
            self.rating.setdefault(name, self.next_initial)
            self.rounds.setdefault(name, 0)
        self.next_initial += self.n_inflation / 100
        outcomes = [self._outcome(row, standings) for standings in divisions for row in standings]
        for outcome in outcomes:
            self.rating[outcome.player] = outcome.mu
            self.rounds[outcome.player] += 1
        return outcomes

    def _outcome(self, row: Standing, standings: Sequence[Standing]) -> Outcome:
        name, lo, _ = row
        mu = self.rating[name]
        others = [(self._beats(self.rating[other], mu), other_lo) for other, other_lo, _ in standings if other != name]
        ties = sum(other_lo == lo for _, other_lo in others) / 2
        actual = 1 + sum(other_lo < lo for _, other_lo in others) + ties
        expected = math.fsum([1, ties, *(w for w, other_lo in others if other_lo != lo)])
        if self.ties != "half":
            expected = math.fsum([1, *(w for w, _ in others)])
        if self.ties == "expected":
            actual = math.fsum([1, *(other_lo < lo or w * (other_lo == lo) for w, other_lo in others)])
        p = math.log2(expected / actual)
        p_prime = math.fsum([1, *(w * (1 - w) for w, _ in others)]) / math.fsum([1, *(w for w, _ in others)])
        raised = p + self.b / K0 * p_prime
        bounded = raised if self.m is None else raised / (1 + abs(raised) / self.m)
        experience = (self.rounds[name] + 1) ** self.alpha
        delta = self.k * bounded / (experience * (1 + self.c * p_prime))
        return Outcome(name, mu, expected, actual, p, p_prime, delta, mu + delta, self.next_initial)

    @staticmethod
    def _beats(one: float, other: float) -> float:
        """Probability that a player rated ``one`` finishes before a player rated ``other``."""
        power = 10.0 ** (-abs(one - other) / 400)
        return 1 / (1 + power) if one >= other else power / (1 + power)
