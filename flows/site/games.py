"""What a site of a run of games has besides: ratings around each game, results, best wins.

The rows of a period are two a game, one after the other, as the rounds table has them; a player may have several games.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..answers.players.record import DRAW, LOSS, WIN
from ..results.display import Display
from ..results.rated_rounds import LeaderboardBuilder
from .content import Round


def ratings_around(
    display: Display, index: int, rows: Round, builder: LeaderboardBuilder
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The display rating of each row of a period before its game, NaN for newcomers, and after it.

    ``rows``: ``player, mu, sigma, n_before``. ``builder``: the state before the period.
    """
    player = rows["player"]
    rounds = np.full(len(player), index, np.int32)
    after = display.rating(rows["mu"], rows["sigma"], rows["n_before"] + np.int32(1), rounds)
    before = np.where(builder.n_rounds[player] > 0, builder.rating[player], np.nan)
    order = np.argsort(player, kind="stable")
    again = np.flatnonzero(np.diff(player[order]) == 0)  # the next row is of the same player
    before[order[again + 1]] = after[order[again]]
    return before, after


def beside(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The values of the opponents."""
    return values.reshape(-1, 2)[:, ::-1].ravel()


def results(rows: Round) -> list[str]:
    """The result of each row, given ``lo`` and ``hi``."""
    names = np.array([WIN, LOSS, DRAW], object)
    found: list[str] = names[np.where(rows["lo"] < rows["hi"], 2, rows["lo"])].tolist()
    return found


class BestWins:
    """The win of each player against the highest rating before the game, of equal ones the first."""

    def __init__(self, n_players: int) -> None:
        self._rating = np.full(n_players, -np.inf)
        self._opponent, self._round = np.zeros((2, n_players), np.int32)

    def add(self, index: int, rows: Round, before: npt.NDArray[np.float64]) -> None:
        """The games of a period; ``before`` as of :func:`ratings_around`."""
        won = np.flatnonzero((rows["lo"] == 0) & (rows["hi"] == 0) & ~np.isnan(beside(before)))
        player, opponent, rating = rows["player"][won], beside(rows["player"])[won], beside(before)[won]
        order = np.lexsort((-np.arange(len(won)), rating, player))  # the best win of a player is the last one
        best = order[np.append(np.diff(player[order]) != 0, True)[: len(order)]]
        best = best[rating[best] > self._rating[player[best]]]
        self._rating[player[best]], self._opponent[player[best]] = rating[best], opponent[best]
        self._round[player[best]] = index

    def of(self, players: npt.NDArray[np.int32], handles: Sequence[str], decimals: int) -> list[list[Any] | None]:
        """Opponent, rating and index of the round of some players; None without a win against a rated opponent."""
        columns = (self._opponent[players], np.round(self._rating[players], decimals), self._round[players])
        return [
            None if np.isinf(rating) else [handles[opponent], rating if decimals else int(rating), index]
            for opponent, rating, index in zip(*(column.tolist() for column in columns), strict=True)
        ]
