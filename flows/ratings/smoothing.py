"""Smooth the history of ratings: every skill at every contest, given all contests before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ranklake.rating_kernels.smoothing.params import Smoothing

from ..common.configuration.needed_times import check_times
from ..common.skipping import Skipping
from ..frames.beliefs import PlayerBeliefs
from ..frames.results import Results
from ..frames.smoothing import smooth_results
from ..smoothing.params import params_of

__all__ = ["smoothed_history"]

_KEPT = ["round_index", "contest", "player", "lo", "hi"]


def smoothed_history(
    history: pd.DataFrame,
    columns: Mapping[str, str],
    beliefs: PlayerBeliefs,
    settings: Mapping[str, Any],
    engine: Any,
    workers: int | None,
) -> pd.DataFrame:
    """Every rated participation, smoothed, except contests of one participant.

    Parameters
    ----------
    columns
        The history's names of ``weight, perf_ceiling, team`` and ``share``, of those that it has.
    beliefs
        Those after the history. Sums are over players in their order, so that the bits are those of the whole results.
    settings
        As for :func:`ranklake.flows.smoothing.params.params_of`.
    """
    timed = bool(history["time_seconds"].any())
    own = {"contest": "contest", "player": "player", "lo": "lo", "hi": "hi", "time": "time_seconds" if timed else ""}
    own |= dict.fromkeys(("rated", "rated_above", "rated_below"), "")  # the history has rated participations alone
    present = {key: columns.get(key, "") for key in ("weight", "perf_ceiling", "team", "share")}
    if present["weight"]:  # empty where an update had no weights
        history = history.fillna({present["weight"]: 1.0})
    results = Results.read(history, own | present)
    number = pd.Index(beliefs.players).get_indexer(pd.Index(results.players))
    rounds = replace(results.rounds, player=number[results.rounds.player].astype(np.int32))
    results = replace(results, rounds=rounds, players=beliefs.players)
    params = params_of(beliefs.params, settings)
    if not timed:
        check_times(Smoothing, {name: getattr(params, name) for name in settings}, "the contests have no times")
    smoothed = smooth_results(results, params, Skipping(all_tied=False), engine, workers)
    rows = history.iloc[smoothed.rows()]
    of_teams = {"team": rows["team"]} if present["team"] else {}
    frame = rows[_KEPT].assign(**smoothed.numbers(), **of_teams)
    frame.attrs = {"sweeps": smoothed.smoother.sweeps}
    return frame
