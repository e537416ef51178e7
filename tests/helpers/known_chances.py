"""Games of players with known skills, with a known share of draws and a known advantage of the first player."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .games import DAY, Game


def chances(lead: float, nu: float) -> tuple[float, float, float]:
    """Win, draw and loss at a lead: the root of the equation by bisection, not by a formula."""
    expected = 1.0 / (1.0 + 10.0 ** (-lead / 400.0))

    def too_high(x: float) -> bool:
        z = x + 1.0 / x + nu
        return x / z + 0.5 * nu / z > expected

    low, high = -60.0, 60.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if too_high(math.exp(middle)) else (middle, high)
    x = math.exp(low)
    z = x + 1.0 / x + nu
    return x / z, nu / z, 1.0 / x / z


def known_league(
    n: int, nu: float = 0.8, advantage: float = 60.0, n_players: int = 24, days: int = 10, seed: int = 5
) -> list[Game]:
    """Games in order of time, evenly over the days."""
    draw = np.random.default_rng(seed)
    skill = draw.normal(1500.0, 150.0, n_players)
    games = []
    for number in range(n):
        first, second = draw.choice(n_players, 2, replace=False).tolist()
        win, drawn, _ = chances(skill[first] - skill[second] + advantage, nu)
        luck = draw.random()
        score = 1.0 if luck < win else 0.5 if luck < win + drawn else 0.0
        games.append(Game(f"p{first}", f"p{second}", score, 1_000 * DAY + number * days * DAY // n))
    return games


def by_turns(games: Sequence[Game], values: Sequence[str], column: str) -> list[dict[str, str]]:
    """Values of a column, game by game in turn."""
    return [{column: values[at % len(values)]} for at in range(len(games))]
