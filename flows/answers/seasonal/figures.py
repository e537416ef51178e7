"""What each player of a leaderboard has done in a season. Imports no kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.storage.lake.schemas import SEASON_COLUMNS

if TYPE_CHECKING:  # imports kernels
    from ...results.display import Display

Columns = Mapping[str, npt.NDArray[Any]]

SEASON_ROUNDS = "season_rounds"  # the column by which players of a season are provisional


def with_season(board: pa.Table, parts: Iterable[Columns], display: Display) -> pa.Table:
    """A leaderboard with ``SEASON_COLUMNS``; a player without a round of the season has 0 rounds and nulls.

    ``parts``: the rated rows of the season; those of a player are in order. The columns are ``player, round_index``,
    ``mu_prior, sigma_prior, n_before`` of ``ROUNDS`` and the display ``rating`` after the row.
    """
    player = board.column("player").to_numpy()
    n = int(player.max(initial=-1)) + 1
    before, last = np.full((2, n), -1, np.int64)  # rounds of each player before the season, and before its last row
    start, best = np.full(n, np.nan), np.full(n, -np.inf)
    for part in parts:
        players, at = np.unique(part["player"], return_index=True)
        fresh = before[players] < 0
        players, at = players[fresh], at[fresh]
        mu, sigma, n_before, index = (part[name][at] for name in ("mu_prior", "sigma_prior", "n_before", "round_index"))
        before[players] = n_before
        start[players] = np.where(n_before == 0, np.nan, display.rating(mu, sigma, n_before, index - 1))
        last[part["player"]] = part["n_before"]  # of several rows of a player, the last one stays
        np.maximum.at(best, part["player"], part["rating"])
    played = before[player] >= 0
    n_rounds = np.where(played, last[player] + 1 - before[player], 0)
    static = display.system.all_games is not None  # its rounds change no rating
    unknown = np.full(len(player), static)
    columns = {
        SEASON_ROUNDS: pa.array(n_rounds, pa.int32()),
        "season_start_rating": _known(start[player], unknown),
        "season_best": _known(best[player], unknown | ~played),
        "season_change": _known(board.column("rating").to_numpy() - start[player], unknown),
    }
    for field in SEASON_COLUMNS:
        board = board.append_column(field, columns[field.name])
    return board


def _known(values: npt.NDArray[np.float64], unknown: npt.NDArray[np.bool_]) -> pa.Array:
    return pa.array(values, mask=unknown | np.isnan(values))
