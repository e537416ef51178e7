"""Rating changes after resets: what a reset makes of a rating is not the result of the round after it.

The rating before the first round of a player after a reset is that of the belief which the player brought to the round;
other rounds begin at the rating after the round before. Imports no kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:  # imports kernels
    from ...results.display import Display
    from .figures import Columns

Floats = npt.NDArray[np.float64]
BROUGHT = ("mu_prior", "sigma_prior", "n_before", "round_index")
"""Columns of :func:`brought`."""


def parted(resets: npt.NDArray[np.int64], earlier: Any, later: Any) -> npt.NDArray[np.bool_]:
    """Whether there is a reset after each ``earlier`` round and not after the ``later`` one.

    ``resets`` (int64[k]): the first round after each reset, ascending.
    """
    apart: npt.NDArray[np.bool_] = np.searchsorted(resets, earlier, "right") < np.searchsorted(resets, later, "right")
    return apart


def brought(rows: Columns, display: Display) -> Floats:
    """The rating that the player of each row brought to its round; ``rows`` have the columns :data:`BROUGHT`."""
    mu, sigma, n_before, round_index = (rows[name] for name in BROUGHT)
    found: Floats = display.rating(mu, sigma, n_before, round_index - 1)
    return found


def ratings_before(rows: Columns, resets: npt.NDArray[np.int64], display: Callable[[], Display]) -> Floats:
    """The rating before each row of one player, in order; NaN of the first one.

    ``rows``: ``rating`` after each row, and the columns :data:`BROUGHT`.
    """
    rating, index = rows["rating"], rows["round_index"]
    before = np.concatenate([np.full(min(len(rating), 1), np.nan), rating[:-1]])
    fresh = 1 + np.flatnonzero(parted(resets, index[:-1], index[1:])) if len(resets) else index[:0]
    if len(fresh):
        before[fresh] = brought({name: rows[name][fresh] for name in BROUGHT}, display())
    return before


def with_brought(
    ratings: Floats, rows: Columns, since: npt.NDArray[np.int32], display: Callable[[], Display]
) -> Floats:
    """The ratings before the rows of a round after a reset, given the ``ratings`` after the rows before.

    ``rows``: the ``player`` of each row, and the columns :data:`BROUGHT`.
    ``since``: the players of the rounds since the reset; others bring another rating, except newcomers, whose one is
    NaN.
    """
    player = rows["player"]
    first = np.zeros(len(player), np.bool_)
    first[np.unique(player, return_index=True)[1]] = True  # of several games in a period, the first one
    fresh = first & ~np.isnan(ratings) & ~np.isin(player, since)
    if fresh.any():
        ratings = ratings.copy()
        ratings[fresh] = brought({name: rows[name][fresh] for name in BROUGHT}, display())
    return ratings


def set_brought(
    before: Floats,
    players: npt.NDArray[np.bool_],
    rounds: npt.NDArray[np.int64],
    parts: Iterable[Columns],
    display: Display,
) -> None:
    """Set the ratings that some players brought to one round each.

    ``before`` (float64[n]), ``players``, ``rounds``: of each player the rating, whether to set it, and the round.
    ``parts``: rows of these rounds, with ``player`` and the columns :data:`BROUGHT`; those of a player are in order.
    """
    for part in parts:
        player = part["player"]
        at = np.flatnonzero(players[player] & (part["round_index"] == rounds[player]))[::-1]
        before[player[at]] = brought({name: part[name][at] for name in BROUGHT}, display)  # of several, the first
