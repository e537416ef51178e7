"""The last ratings of every player of a run, collected while its rounds are read once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..pages.sparkline import N_POINTS


class RecentRatings:
    """The display ratings of each player after the last ``N_POINTS`` rounds, 100 bytes a player."""

    def __init__(self, n_players: int) -> None:
        self._ring = np.zeros((n_players, N_POINTS), np.float32)  # as wide as a line of a few pixels needs
        self._last, self._before = np.full((2, n_players), np.nan)
        self._n = np.zeros(n_players, np.int32)

    def add(
        self, player: npt.NDArray[np.int32], rating: npt.NDArray[np.float64], before: npt.NDArray[np.float64]
    ) -> None:
        """The ratings of some players after a round, and before it; NaN of newcomers."""
        self._before[player], self._last[player] = before, rating
        self._ring[player, self._n[player] % N_POINTS] = rating
        self._n[player] += 1

    def of(self, players: npt.NDArray[np.int32], most: int = N_POINTS) -> list[list[float]]:
        """The last ratings of some players, at most ``most`` of them, oldest first; the last two are exact."""
        found = []
        for player in players.tolist():
            n = int(self._n[player])
            last = [self._before[player], self._last[player]][-min(n, 2) :] if n else []
            older = [self._ring[player, i % N_POINTS] for i in range(max(n - min(most, N_POINTS), 0), n - len(last))]
            found.append([float(rating) for rating in [*older, *last] if np.isfinite(rating)])
        return found
