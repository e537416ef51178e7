"""The resets between the rounds that are smoothed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.core.beliefs import NEVER
from ranklake.rating_kernels.core.standings import Floats
from ranklake.rating_kernels.smoothing.transitions import RoundReset

from ..execution.rater import BeliefReset, mean_of_rated


def resets_between(
    resets: Sequence[tuple[int, BeliefReset]], rounds: Rounds, index: npt.NDArray[Any], ratings: Floats
) -> list[RoundReset]:
    """The resets as smoothing takes them; those after the last round change nothing.

    ``resets``: each with the index of the round that comes after it, in order.
    ``rounds``, ``index``: the rounds to smooth, and the index of each.
    ``ratings`` (float64[n]): of the participants after their round: a reset around the mean takes theirs.
    """
    if not resets:
        return []
    n_players, player = int(rounds.player.max(initial=-1)) + 1, rounds.player
    mu, n_rounds = np.zeros(n_players), np.zeros(n_players, dtype=np.int32)
    last_time = np.full(n_players, NEVER, dtype=np.int64)
    ends = np.repeat(rounds.time_seconds, np.diff(rounds.offsets))
    found, done = [], 0
    for at, given in resets:
        before = int(np.searchsorted(index, at))
        stop = int(rounds.offsets[before])
        now = player[done:stop]
        mu[now], n_rounds[now] = ratings[done:stop], 1  # the last row of a player stays
        np.maximum.at(last_time, now, ends[done:stop])
        done = stop
        reset = given.around(mean_of_rated(mu, n_rounds) if given.centre is None else given.centre)
        acts = given.rows(n_rounds, last_time)
        mu[acts] = reset.move(mu[acts])
        mask = np.zeros(n_players, dtype=np.bool_)
        mask[acts] = True
        found.append(RoundReset(before, mask, reset))
    return found
