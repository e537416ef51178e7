"""Smooth a data frame of results: every skill at every contest, given all contests before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ranklake.rating_kernels import ConvergenceError
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.warm import SMOOTHING

from ..common.settings import convert_fields
from ..common.skipping import Skipping, count_reasons
from ..compilation.compile import compile_parts
from ..execution.smoothing import smooth_rounds
from ..sources.base import OnError
from ..sources.options import Duplicates
from .rating import check_times, open_given_engine
from .results import Results

__all__ = ["smooth_history"]


def smooth_history(
    results: Any,
    *,
    columns: Mapping[str, str] | None = None,
    contest: str | None = None,
    player: str | None = None,
    rank: str | None = None,
    score: str | None = None,
    time: str | None = None,
    engine: Any = "threads",
    workers: int | None = None,
    skip_uninformative: bool = True,
    on_error: OnError = "stop",
    duplicates: Duplicates = "error",
    **hyperparameters: Any,
) -> pd.DataFrame:
    """Smooth a whole history of contests: skills at every contest, given all contests before and after.

    Parameters
    ----------
    results, columns, contest, player, rank, score, time, engine, workers, on_error, duplicates
        As for :func:`ranklake.rate_history`.
    skip_uninformative
        Skip contests of three or more participants in which all tie. Contests of one participant are always skipped.
    **hyperparameters
        ``tie_mode`` ("full" or "split"), ``beta`` (160), ``gamma`` (12), ``drift_per_day`` (12; 0 if the results have
        no times), ``practice`` (6), ``practice_rounds`` (20), ``mu_init`` (1500), ``sigma_init`` (350).

    Returns
    -------
    pd.DataFrame
        One row per participation in order of time: ``round_index, contest, player, lo, hi, perf, smooth_mu,
        smooth_sigma, cavity_mu, cavity_sigma``, ``contest`` and ``player`` as given. ``smooth_mu`` and
        ``smooth_sigma`` are the mean and standard deviation of the skill at this contest, given all contests, and the
        cavity's the same without this contest. ``perf`` is the performance against the cavities of the others.
        ``attrs`` has ``sweeps``, ``skipped``, ``reasons`` and ``left_out``.

    Raises
    ------
    ValueError
        Invalid results, or a hyperparameter out of range.
    ConvergenceError
        The sweeps did not converge, or a performance was not found; the message names the contest.
    """
    keys = {"contest": contest, "player": player, "rank": rank, "score": score, "time": time}
    table = Results.read(results, keys | dict(columns or {}), on_error, duplicates)
    timeless = {} if "time" in table.columns else {"drift_per_day": 0.0}
    params = Smoothing(**convert_fields(Smoothing, timeless | hyperparameters, "smoothing"))
    check_times(params, table)
    reasons = Skipping(all_tied=skip_uninformative).reasons(table.rounds)
    smoothed = table.rounds.keep(reasons == 0)
    sizes = np.diff(smoothed.offsets)
    index = np.repeat(np.flatnonzero(reasons == 0), sizes)
    with open_given_engine(engine, workers) as opened_engine:
        if opened_engine.on_this_machine:
            compile_parts([SMOOTHING])
        try:
            smoother = smooth_rounds(params, smoothed, len(table.players), opened_engine)
        except ConvergenceError as error:
            if error.row is None:
                raise
            raise ConvergenceError(
                f"contest {table.contest(int(index[error.row]))}: {error.rule}", error.row
            ) from error
    rows, outcome = table.rows[np.repeat(reasons == 0, np.diff(table.rounds.offsets))], smoother.result()
    history = pd.DataFrame(
        {
            "round_index": index.astype(np.int32),
            "contest": table.frame.take(table.columns["contest"], rows),
            "player": table.frame.take(table.columns["player"], rows),
            "lo": smoothed.lo,
            "hi": smoothed.hi,
            "perf": outcome.perf,
            "smooth_mu": outcome.smooth_mu,
            "smooth_sigma": outcome.smooth_sigma,
            "cavity_mu": outcome.cavity_mu,
            "cavity_sigma": outcome.cavity_sigma,
        }
    )
    history.attrs |= {
        "sweeps": smoother.sweeps,
        "skipped": int(np.count_nonzero(reasons)),
        "reasons": count_reasons(reasons),
        "left_out": table.left_out,
    }
    return history
