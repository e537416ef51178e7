"""The display rating of every player between two rounds, followed in rated order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Beliefs, Outcome, Rounds

from ..results.display import Display


class CurrentRatings:
    """Follows the outcomes of all rounds.

    ``beliefs``: beliefs before the first round that is followed; copied.
    """

    def __init__(self, display: Display, beliefs: Beliefs) -> None:
        self._display = display
        self._mu, self._sigma, self._n_rounds = beliefs.mu.copy(), beliefs.sigma.copy(), beliefs.n_rounds.copy()

    def of(self, player: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        """The display ratings of some players, rating points."""
        ratings: npt.NDArray[np.float64] = self._display.rating(
            self._mu[player], self._sigma[player], self._n_rounds[player]
        )
        return ratings

    def restore(self, columns: Mapping[str, Any]) -> None:
        """Begin with stored beliefs; players beyond them are newcomers."""
        n = len(columns["mu"])
        self._mu[:n], self._sigma[:n], self._n_rounds[:n] = (columns[key] for key in ("mu", "sigma", "n_rounds"))

    def follow(self, rounds: Rounds, outcome: Outcome) -> None:
        """Take the ratings after the next rated rounds."""
        if not rounds.n_rows:
            return
        player, last = np.unique(rounds.player[::-1], return_index=True)
        rows = rounds.n_rows - 1 - last
        self._mu[player], self._sigma[player] = outcome.mu[rows], outcome.sigma[rows]
        self._n_rounds[player] = outcome.n_before[rows] + rounds.are_rated[rows]


def cut_at(limited: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive contests; each one with limits is alone, as it waits for the ratings after those before."""
    at = np.flatnonzero(limited)
    return pairwise(np.unique(np.concatenate(([0, len(limited)], at, at + 1))).tolist())
