"""The leaderboard of all time: the best smoothed level of each player."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Lake

from ..results.leaderboard import open_rated, rated_contests
from ..results.smoothed import RunSmoothing

__all__ = ["DEVIATIONS", "all_time_leaderboard"]

DEVIATIONS = 2.0  # by default: a level that the skill reached with a probability of 98 %


def all_time_leaderboard(lake: Lake, run_name: str, deviations: float | None = None) -> pa.Table:
    """The best level of each player at any contest, given all contests before and after; best first, ties by handle.

    Levels of different years are comparable, as those of :func:`.leaderboard.leaderboard` are not.

    Parameters
    ----------
    deviations
        The level is smooth_mu - deviations smooth_sigma; by default :data:`DEVIATIONS`.

    Returns
    -------
    pa.Table
        ``place`` (from 1, ties share one), ``handle, level, smooth_mu, smooth_sigma`` at the contest of the best level
        (the first one, if there are several), its ``contest_id, name, time_seconds`` (null if the data set no longer
        has it), ``n_rounds`` of the player, ``player``. Full precision.

    Raises
    ------
    LakeError
        There is no such run, it has no rounds yet, or no current smoothing; the message names the remedy.
    """
    run, dataset, chain = open_rated(lake, run_name)
    rows = RunSmoothing(run, chain).read()
    player, mu, sigma = (rows.column(name).to_numpy() for name in ("player", "smooth_mu", "smooth_sigma"))
    level = mu - (DEVIATIONS if deviations is None else deviations) * sigma
    by_player = np.lexsort((-level, player))  # stable: of equal levels, the first contest
    best = by_player[np.flatnonzero(np.diff(player[by_player], prepend=-1))]
    board = pa.table({"level": level[best], "handle": dataset.handles().take(pa.array(player[best]))})
    order = pc.sort_indices(board, sort_keys=[("level", "descending"), ("handle", "ascending")])
    board, best = board.take(order), best[order.to_numpy()]
    shown, round_index = board.column("level").to_numpy(), rows.column("round_index").to_numpy()[best]
    contests = rated_contests(chain, dataset).take(pa.array(round_index))
    columns = {
        "place": np.searchsorted(-shown, -shown, side="left") + 1,
        "handle": board.column("handle"),
        "level": shown,
        "smooth_mu": mu[best],
        "smooth_sigma": sigma[best],
        "contest_id": rows.column("contest_id").take(pa.array(best)),
        "name": contests.column("name"),
        "time_seconds": contests.column("time_seconds"),
        "n_rounds": np.bincount(player)[player[best]].astype(np.int32),
        "player": player[best],
    }
    return pa.table(columns)
