"""Reference implementation of margins of victory, and of Elo with them, in decimals of fifty digits.

Source: the published rules of FiveThirtyEight (American football, basketball), the World Football Elo Ratings, and the
factors of margins as the documentation prints them. Nothing is shared with the kernels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from itertools import pairwise

DIGITS = 50


@dataclass(frozen=True)
class Rule:
    """The hyperparameters of margins."""

    margin: str
    margin_unit: float = 1.0
    margin_cap: float | None = None
    margin_slope: float = 0.25

    def factor(self, points: float, points_other: float, score: float, lead: float | Decimal) -> Decimal:
        """How often a game counts, given points, score and lead in strength of its first player."""
        with localcontext(prec=DIGITS):
            d = (Decimal(points) - Decimal(points_other)) / Decimal(self.margin_unit)
            x = Decimal(lead)
            if score < 0.5:
                d, x = -d, -x
            if self.margin_cap is not None:
                d = min(d, Decimal(self.margin_cap))
            d = max(d, Decimal(1))
            if score == 0.5:
                d, x = Decimal(0), Decimal(0)
            x = max(min(x, Decimal(1100)), Decimal(-1100))
            if self.margin == "log":
                return (1 + d).ln() / Decimal(2).ln() if d else Decimal(1)
            if self.margin == "log_lead":
                return (1 + max(d, Decimal(1))).ln() * Decimal("2.2") / (Decimal("0.001") * x + Decimal("2.2"))
            if self.margin == "goals":
                knots = [(0, 1), (1, 1), (2, Decimal("1.5")), (3, Decimal("1.75"))]
                for (left, low), (right, high) in pairwise(knots):
                    if d <= right:
                        return low + (high - low) * (d - left) / (right - left)
                return (11 + d) / 8
            if self.margin == "linear":
                return 1 + Decimal(self.margin_slope) * (d - 1) if d else Decimal(1)
            if self.margin == "power_lead":
                return (d + 3) ** Decimal("0.8") / (Decimal("7.5") + Decimal("0.006") * x)
            return Decimal(1)


@dataclass
class EloTwin:
    """Ratings by Elo's logistic curve, and the rules by which games move them."""

    rule: Rule
    k: float = 32.0
    initial: float = 1500.0
    mu: dict[str, Decimal] = field(default_factory=dict)

    def play(self, a: str, b: str, points: float, points_other: float, advantage: float) -> dict[str, Decimal]:
        """One game, with an advantage of ``a``; the ratings after it, the expected score and the factor."""
        with localcontext(prec=DIGITS):
            one, other = (self.mu.setdefault(name, Decimal(self.initial)) for name in (a, b))
            score = Decimal((points > points_other) - (points < points_other)) / 2 + Decimal("0.5")
            lead = one - other + Decimal(advantage)
            expected = 1 / (1 + Decimal(10) ** (-lead / 400))
            factor = self.rule.factor(points, points_other, float(score), lead)
            change = Decimal(self.k) * factor * (score - expected)
            self.mu[a], self.mu[b] = one + change, other - change
            return {"margin_factor": factor, "expected_a": expected, "mu_a": self.mu[a], "mu_b": self.mu[b]}
