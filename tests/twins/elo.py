"""Reference implementation of Elo in plain Python: one game and one opponent at a time.

Source: "The Math Behind ELO" for the curve, the change and K by importance; FIDE's tiers of K. Nothing is shared with
the kernels: sums are exact (:func:`math.fsum`), powers of ten are taken as printed, decimals are rounded as decimals.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal

Standing = tuple[str, int, int]  # player, lo, hi


@dataclass
class Player:
    """A rating; completed games and highest rating so far, for K by tiers; a K of the player's own."""

    mu: float
    peak: float
    games: float = 0.0
    k: float | None = None
    n: int = 0


@dataclass(frozen=True)
class Game:
    """One game: what was expected of both, and their ratings after it."""

    expected_a: float
    expected_b: float
    mu_a: float
    mu_b: float


@dataclass(frozen=True)
class Outcome:
    """One participation in a round."""

    player: str
    mu_prior: float
    mu: float


@dataclass
class Twin:
    """All ratings, and the rules by which games move them. ``initial_k`` are the players' own K."""

    n: float = 400.0
    certain_lead: float = math.inf
    cdf_table: Sequence[float] = ()
    k: float = 32.0
    k_rule: str = "fixed"
    cdf: str = "logistic"
    pairs: str = "mean"
    round_digits: int | None = None
    round_what: str = "rating"
    initial: float = 1500.0
    initial_ratings: Mapping[str, float] = field(default_factory=dict)
    initial_k: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.players: dict[str, Player] = {}
        for name in self.initial_ratings:
            self.known(name)

    def known(self, name: str) -> Player:
        """The player of this name, created when first seen."""
        mu = float(self.initial_ratings.get(name, self.initial))
        return self.players.setdefault(name, Player(mu, mu, k=self.initial_k.get(name)))

    def play(self, a: str, b: str, score: float, weight: float = 1.0, k: float | None = None) -> Game:
        """One game; ``k`` replaces the K of both players."""
        one, other = self.known(a), self.known(b)
        expected_a, expected_b = self.expected(one.mu - other.mu), self.expected(other.mu - one.mu)
        k_a, k_b = (weight * (self.k_of(player) if k is None else k) for player in (one, other))
        self.move(one, k_a * (score - expected_a), 1)
        self.move(other, k_b * ((1 - score) - expected_b), 1)
        return Game(expected_a, expected_b, one.mu, other.mu)

    def rate(
        self, standings: Sequence[Standing], weight: float = 1.0, advantages: Sequence[float] | None = None
    ) -> list[Outcome]:
        """A round as one game between any two, all from the ratings before it: the mean of the games, or their sum.

        ``advantages`` are the points that each participant is stronger than its rating says.
        """
        players = [self.known(name) for name, _, _ in standings]
        before = [player.mu for player in players]
        n = len(standings)
        strength = [mu + more for mu, more in zip(before, advantages or [0.0] * n, strict=True)]
        changes = []
        for i, player in enumerate(players):
            terms = []
            for j in range(n):
                if j != i:
                    lo, other_lo = standings[i][1], standings[j][1]
                    score = 1.0 if lo < other_lo else 0.5 if lo == other_lo else 0.0
                    terms += [score, -self.expected(strength[i] - strength[j])]
            changes.append(
                weight * self.k_of(player) * math.fsum(terms) / (max(n - 1, 1) if self.pairs == "mean" else 1)
            )
        games = min(n - 1, 1) if self.pairs == "mean" else n - 1
        for player, change in zip(players, changes, strict=True):
            self.move(player, change, games)
        return [Outcome(name, mu, self.players[name].mu) for (name, _, _), mu in zip(standings, before, strict=True)]

    def expected(self, x: float) -> float:
        """Expected score at a lead of ``x`` points."""
        if self.cdf == "linear":
            return min(max(0.5 + x / (2.0 * self.certain_lead), 0.0), 1.0)
        if self.cdf == "table":
            return _interpolated(self.cdf_table, abs(x)) if x >= 0 else 1.0 - _interpolated(self.cdf_table, -x)
        if self.cdf == "normal":
            return 0.5 * math.erfc(-x / self.n)  # Phi(x sqrt(2) / n)
        power = 10.0 ** (-abs(x) / self.n)
        return 1 / (1 + power) if x >= 0 else power / (1 + power)

    def k_of(self, player: Player) -> float:
        """K of the player's next game."""
        if player.k is not None:
            return player.k
        if self.k_rule == "fixed":
            return self.k
        if player.games < 30:
            return 40.0
        return 10.0 if player.peak >= 2400 else 20.0

    def move(self, player: Player, change: float, games: int) -> None:
        """Add a change, rounded if asked for."""
        if self.round_digits is not None and self.round_what == "change":
            change = _rounded(change, self.round_digits)
        player.mu += change
        if self.round_digits is not None and self.round_what == "rating":
            player.mu = _rounded(player.mu, self.round_digits)
        player.peak = max(player.peak, player.mu)
        player.games += games
        player.n += 1


def _interpolated(table: Sequence[float], lead: float) -> float:
    """Hermite's cubic at a lead >= 0 between points mirrored at (0, 1/2), with the slopes of Fritsch and Butland."""
    points = list(zip(table[::2], table[1::2], strict=True))
    points = [(x, y) for x, y in points if x > 0]
    points = [(-x, 1 - y) for x, y in reversed(points)] + [(0.0, 0.5)] + points
    if lead >= points[-1][0]:
        return points[-1][1]
    steps = [(b[0] - a[0], (b[1] - a[1]) / (b[0] - a[0])) for a, b in itertools.pairwise(points)]
    slopes = [math.nan]
    for (h, s), (g, t) in itertools.pairwise(steps):
        slopes.append(3 * (h + g) / ((2 * g + h) / s + (g + 2 * h) / t))
    (g, t), (h, s) = steps[-2:]
    slopes.append(max(((2 * h + g) * s - h * t) / (h + g), 0.0))
    i = max(i for i, (x, _) in enumerate(points) if x <= lead)
    h, u = steps[i][0], (lead - points[i][0]) / steps[i][0]
    left, right = points[i][1], points[i + 1][1]
    return (
        (1 + 2 * u) * (1 - u) ** 2 * left
        + u * (1 - u) ** 2 * h * slopes[i]
        + u * u * (3 - 2 * u) * right
        + u * u * (u - 1) * h * slopes[i + 1]
    )


def _rounded(x: float, digits: int) -> float:
    """``x`` to ``digits`` decimals, halves away from zero."""
    return float(Decimal(x).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP))
