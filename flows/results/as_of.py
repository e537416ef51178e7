"""The leaderboard of a run as of a day: the state after the rounds until then, and the days since."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels.core.limits import TIME_SECONDS
from ranklake.rating_kernels.core.system import check_value
from ranklake.storage import Dataset, Lake, LakeError, Run

from ..common.progress import ProgressCallback, not_shown
from ..common.times import count_until, spelled
from ..common.titles import TitlesChoice
from .display import Display
from .idle import idle_rating
from .leaderboard import LeaderboardBuilder, check_rated, iter_shown, rated_contests
from .run_titles import titles_of

__all__ = ["leaderboard_at"]


def leaderboard_at(
    lake: Lake,
    run_name: str,
    at: int,
    deviations: float | None = None,
    titles: TitlesChoice = None,
    on_progress: ProgressCallback = not_shown,
) -> pa.Table:
    """The leaderboard of a run at a time: all players rated until then, best first.

    The state is that after the last round that ended at ``at`` or before. In systems with a drift by day, ``sigma`` has
    grown since each player's last round, and ``rating`` follows; ``max_rating`` is that after a round.

    Parameters
    ----------
    at
        UTC seconds.
    deviations, titles
        See :func:`ranklake.flows.results.leaderboard.leaderboard`.

    Returns
    -------
    pa.Table
        Columns as in ``PUBLISHED["leaderboard"]``, full precision.

    Raises
    ------
    ValueError
        ``at`` is out of range.
    LakeError
        There is no such run, or none of its rated rounds had ended by then.
    """
    check_value("at", at, TIME_SECONDS)
    run = Run.open(lake, run_name)
    dataset, chain = Dataset.open(lake, run.config["dataset"]), run.segments()
    check_rated(run, chain)
    display, contests = Display.of(run, deviations), rated_contests(chain, dataset)
    ends = contests.column("time_seconds").fill_null(0).to_numpy()  # 0 is unknown
    stop = count_until(ends, at)
    builder = LeaderboardBuilder(dataset.n_players, contests, display)
    latest = np.zeros(dataset.n_players, dtype=np.int64)  # clocks of sources may go back, those of kernels do not
    columns = LeaderboardBuilder.columns
    for _, rounds in iter_shown(run, chain, 0, stop, columns, on_progress, f"run {run_name}") if stop else ():
        builder.update(rounds)
        np.maximum.at(latest, rounds.column("player").to_numpy(), ends[rounds.column("round_index").to_numpy()])
    players = np.flatnonzero(builder.n_rounds)
    if not len(players):
        raise LakeError(f"run {run_name} has no rated rounds until {spelled(at)}; {_first(ends)}")
    mu, sigma, n_rounds = builder.mu[players], builder.sigma[players], builder.n_rounds[players]
    builder.sigma[players], builder.rating[players] = idle_rating(display, mu, sigma, n_rounds, latest[players], at)
    return builder.table(dataset.handles(), titles_of(run, dataset, display.params.mu_init, titles))


def _first(ends: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    known = ends[ends != 0]
    return f"its first contest ended at {spelled(int(known.min()))}" if len(known) else "its contests have no times"
