"""Intervals of places, tiers and provisional players by their definitions: counts over all pairs."""

from __future__ import annotations

from typing import Any

Player = tuple[str, float, float, int]


def ranked(players: list[Player], min_rounds: int, max_sigma: float) -> list[Player]:
    """The players who are not provisional."""
    return [player for player in players if player[3] >= min_rounds and player[2] <= max_sigma]


def place(players: list[Player], one: Player) -> int:
    return 1 + sum(mu > one[1] for _, mu, _, _ in players)


def percentile(players: list[Player], one: Player) -> float:
    """The percentage of the others who are lower."""
    return 100.0 * sum(mu < one[1] for _, mu, _, _ in players) / (len(players) - 1) if len(players) > 1 else 100.0


def interval(players: list[Player], one: Player, z: float, rule: str) -> tuple[int, int]:
    """The best and the worst place of one of the players."""
    low, high = one[1] - z * one[2], one[1] + z * one[2]
    width = z if rule == "separated" else 0.0
    above = sum(mu - width * sigma > high for _, mu, sigma, _ in players)
    below = sum(mu + width * sigma < low for _, mu, sigma, _ in players)
    return 1 + above, len(players) - below


def tiers(players: list[Player], z: float) -> dict[str, int]:
    """The tier of each player by name."""
    found: dict[str, int] = {}
    leader: Any = None
    tier = 0
    for name, mu, sigma, _ in sorted(players, key=lambda player: (-player[1], player[2], player[0])):
        if leader is None or mu + z * sigma < leader[1] - z * leader[2]:
            leader, tier = (name, mu, sigma), tier + 1
        found[name] = tier
    return found


def table(players: list[Player], z: float, min_rounds: int, max_sigma: float, rule: str) -> dict[str, dict[str, Any]]:
    """All of them; None for provisional players."""
    counted = ranked(players, min_rounds, max_sigma)
    tier, rows = tiers(counted, z), {}
    for player in players:
        if player in counted:
            best, worst = interval(counted, player, z, rule)
            numbers: list[Any] = [place(counted, player), best, worst, tier[player[0]]]
        else:
            numbers = [None] * 4
        columns = dict(zip(("place", "place_high", "place_low", "tier"), numbers, strict=True))
        rows[player[0]] = {"provisional": player not in counted, **columns}
    return rows
