"""When something is fitted again as the games of a run grow: a function of the numbers of games alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]

LEAST_GAMES = 20
"""Games of a first fit."""
_TENTHS = 11  # of the games of the fit before


def next_refit(games: int) -> int:
    """The least number of games of the fit after one of so many games."""
    return -(-_TENTHS * games // 10)


def refit_rounds(counts: Longs) -> list[int]:
    """The rounds before which a refit is due, given the games of each round; the number of rounds may be the last."""
    before = np.concatenate(([0], np.cumsum(counts)))
    found, least = list[int](), LEAST_GAMES
    while before[-1] >= least:
        found.append(int(np.searchsorted(before, least)))
        least = next_refit(int(before[found[-1]]))
    return found
