"""The resets of a run between the rounds that are smoothed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.core.beliefs import NEVER
from ranklake.rating_kernels.smoothing.transitions import RoundReset
from ranklake.storage import Dataset

from ..events.apply import belief_reset
from ..events.resets import DueReset
from ..execution.rater import mean_of_rated


def resets_between(
    due: Sequence[DueReset], params: Any, dataset: Dataset, rows: pa.Table, rounds: Rounds, index: npt.NDArray[Any]
) -> list[RoundReset]:
    """The resets as smoothing takes them; those after the last round change nothing.

    A reset around the mean takes that of the run's ratings.

    ``due``: those of the run, in order.
    ``params``: hyperparameters of the run.
    ``rows``: ``round_index``, ``player`` and ``mu`` of all participations, in order.
    ``rounds``, ``index``: the rounds to smooth, and the index of each in the run.
    """
    if not due:
        return []
    n_players = int(rounds.player.max(initial=-1)) + 1
    mu, n_rounds = np.zeros(n_players), np.zeros(n_players, dtype=np.int32)
    last_time = np.full(n_players, NEVER, dtype=np.int64)
    at, player, after = (rows.column(name).to_numpy() for name in ("round_index", "player", "mu"))
    ends = np.repeat(rounds.time_seconds, np.diff(rounds.offsets))
    found, done = [], 0
    for one in due:
        stop = int(np.searchsorted(at, one.round_index))
        now = player[done:stop]
        mu[now], n_rounds[now] = after[done:stop], 1  # the last row of a player stays
        np.maximum.at(last_time, now, ends[done:stop])
        done, given = stop, belief_reset(one, params, dataset)
        centre = mean_of_rated(mu, n_rounds) if given.centre is None else given.centre
        acts, reset = given.rows(n_rounds, last_time), given.around(centre)
        mu[acts] = reset.move(mu[acts])
        mask = np.zeros(n_players, dtype=np.bool_)
        mask[acts] = True
        found.append(RoundReset(int(np.searchsorted(index, one.round_index)), mask, reset))
    return found
