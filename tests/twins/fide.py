"""Reference implementation of FIDE's ratings in plain Python: one player and one game at a time, in fractions.

Source: FIDE Handbook B.02, Rating Regulations. Nothing is shared with the kernels: the table is read row by row, scores
are fractions, and whole numbers are rounded as decimals.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

Game = tuple[str, str, float]  # player, opponent, score of the player

# 8.1.2, the highest "D" of each "H" from .50 to .99
_HIGHEST = [
    3, 10, 17, 25, 32, 39, 46, 53, 61, 68, 76, 83, 91, 98, 106, 113, 121, 129, 137, 145, 153, 162, 170, 179, 188, 197,
    206, 215, 225, 235, 245, 256, 267, 278, 290, 302, 315, 328, 344, 357, 374, 391, 411, 432, 456, 484, 517, 559, 619,
    735,
]  # fmt: skip
# 8.1.1, "dp" of each "p" from 1.00 down to .50
_DP = [
    800, 677, 589, 538, 501, 470, 444, 422, 401, 383, 366, 351, 336, 322, 309, 296, 284, 273, 262, 251, 240, 230, 220,
    211, 202, 193, 184, 175, 166, 158, 149, 141, 133, 125, 117, 110, 102, 95, 87, 80, 72, 65, 57, 50, 43, 36, 29, 21,
    14, 7, 0,
]  # fmt: skip


def whole(x: Fraction) -> int:
    """The nearest whole number, halves away from zero."""
    return int((Decimal(x.numerator) / Decimal(x.denominator)).quantize(Decimal(1), rounding=ROUND_HALF_UP))


def expected(rating: int, opponent: int) -> Fraction:
    """The expected score of a player against an opponent."""
    lead = rating - opponent
    if rating < 2650:
        lead = max(-400, min(400, lead))
    higher = next((Fraction(50 + i, 100) for i, most in enumerate(_HIGHEST) if abs(lead) <= most), Fraction(1))
    return higher if lead >= 0 else 1 - higher


def difference(score: Fraction) -> int:
    """The lead of a share of points, taken to whole hundredths."""
    hundredths = whole(100 * score)
    return _DP[100 - hundredths] if hundredths >= 50 else -_DP[hundredths]


def performance(opponents: list[int], score: Fraction) -> int:
    """The performance against rated opponents."""
    n = len(opponents)
    return whole(Fraction(sum(opponents), n)) + difference(score / n)


@dataclass
class Player:
    """A player between two periods; ``rating`` None: unrated. ``pool``: month, opponent and score of each game."""

    rating: int | None = None
    games: int = 0
    peak: int = 0
    birth_year: int | None = None
    pool: list[tuple[int, int, Fraction]] = field(default_factory=list)
    began: bool = False


@dataclass(frozen=True)
class Outcome:
    """A player's period; ``counted`` are the games of the pool for an unrated player."""

    counted: int
    before: int | None
    rating: int | None
    k: int | None = None
    surplus: Fraction | None = None
    change: int | None = None
    performance: int | None = None


class Twin:
    """All players, by name; a period is a list of games."""

    def __init__(self, players: dict[str, Any] | None = None) -> None:
        self.players = {name: Player(**facts) for name, facts in (players or {}).items()}
        for player in self.players.values():
            player.peak = max(player.peak, player.rating or 0)

    def rate(self, games: list[Game], year: int, month: int = 1) -> dict[str, Outcome]:
        """Rate a period that ends in a month."""
        results: dict[str, list[tuple[str, Fraction]]] = {}
        for a, b, score in games:
            results.setdefault(a, []).append((b, Fraction(score)))
            results.setdefault(b, []).append((a, 1 - Fraction(score)))
        before = {name: self.players.setdefault(name, Player()).rating for name in results}
        found = {}
        for name, played in results.items():
            against = [(rating, score) for b, score in played if (rating := before[b]) is not None]
            player = self.players[name]
            shown = performance([r for r, _ in against], sum((s for _, s in against), Fraction())) if against else None
            rate = self._unrated if player.rating is None else self._rated
            found[name] = rate(player, against, shown, year, month)
        return found

    @staticmethod
    def _rated(player: Player, against: list[Any], shown: int | None, year: int, month: int) -> Outcome:
        rating, n = player.rating or 0, len(against)
        young = player.birth_year is not None and year <= player.birth_year + 18 and rating < 2300
        k = 10 if player.peak >= 2400 else 40 if player.games < 30 or young else 20
        if k * n > 700:
            k = 700 // n
        surplus = sum((score - expected(rating, other) for other, score in against), Fraction())
        change = whole(k * surplus)
        player.games += n
        player.rating = rating + change if rating + change >= 1400 else None
        player.peak = max(player.peak, player.rating or 0)
        player.pool = []
        return Outcome(n, rating, player.rating, k, surplus, change, shown)

    @staticmethod
    def _unrated(player: Player, against: list[Any], shown: int | None, year: int, month: int) -> Outcome:
        now, points = 12 * year + month, sum((score for _, score in against), Fraction())
        if against and not points and not player.began and not player.games:
            player.began = True
            return Outcome(0, None, None, performance=shown)
        if against:
            player.began = True
            player.pool = [game for game in player.pool if game[0] > now - 26]
            player.pool += [(now, other, score) for other, score in against]
            player.games += len(against)
        n = len(player.pool)
        if against and n >= 5:
            mean = Fraction(sum(other for _, other, _ in player.pool) + 3600, n + 2)
            first = whole(mean + difference((sum(score for *_, score in player.pool) + 1) / (n + 2)))
            if first >= 1400:
                player.rating, player.pool = min(first, 2200), []
                player.peak = max(player.peak, player.rating)
        return Outcome(n, None, player.rating, performance=shown)
