"""Waves of games: conflict colouring of one-to-one games in sequence.

Two games without a common player commute: each order gives the same bits. A game is therefore assigned to the wave
after the latest wave of its two players. The games of one wave share no player, and can be rated at the same time;
waves in order, each player's games are in order.

The number of waves is the length of the longest chain of games of which each shares a player with the next one. No
other division into classes that respects the order has fewer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .jit import exact
from .standings import Ints, Longs


@dataclass(frozen=True, slots=True)
class Waves:
    """Games divided into waves.

    ``order`` (int64[m]): numbers of the games, wave by wave; ascending within a wave.
    ``bounds`` (int64[w + 1]): wave ``i`` has the games ``order[bounds[i]:bounds[i + 1]]``.
    """

    order: Longs
    bounds: Longs

    @classmethod
    def of(cls, player: Ints, n_players: int) -> Waves:
        """Divide games in sequence into as few waves as possible; two passes over the games.

        ``player`` (int32[2 m]): the players of each game, from 0 to ``n_players - 1``; those of one game are adjacent
        and differ.
        """
        wave = np.empty(len(player) // 2, dtype=np.int64)
        n_waves = _assign(player, np.zeros(n_players, dtype=np.int64), wave)
        order, bounds = np.empty_like(wave), np.zeros(n_waves + 1, dtype=np.int64)
        _sort(wave, bounds, order)
        return cls(order, bounds)


@exact
def _assign(player, free, wave):
    """Write the wave of each game; ``free`` is the first wave without a game of each player. Returns their number."""
    n_waves = 0
    for g in range(len(wave)):
        a, b = player[2 * g], player[2 * g + 1]
        wave[g] = max(free[a], free[b])
        free[a] = free[b] = wave[g] + 1
        n_waves = max(n_waves, free[a])
    return n_waves


@exact
def _sort(wave, bounds, order):
    """Sort games by wave, by counting; games of one wave keep their order."""
    for g in range(len(wave)):
        bounds[wave[g] + 1] += 1
    for i in range(1, len(bounds)):
        bounds[i] += bounds[i - 1]
    place = bounds[:-1].copy()
    for g in range(len(wave)):
        order[place[wave[g]]] = g
        place[wave[g]] += 1
