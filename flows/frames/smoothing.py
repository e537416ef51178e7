"""Smooth a data frame of results: every skill at every contest, given all contests before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranklake.rating_kernels import ConvergenceError, Rounds
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.smoothing.sweeps import Smoother
from ranklake.rating_kernels.warm import SMOOTHING

from ..common.arguments import checked
from ..common.configuration.settings import check_times, chosen_of, convert_fields
from ..common.skipping import Skipping
from ..compilation.compile import compile_parts
from ..execution.smoothing import smooth_rounds
from ..sources.absences import Absent
from ..sources.base import OnError
from ..sources.options import Duplicates
from .rating import open_given_engine
from .results import NO_TIMES, Reading, Results, named_columns

_NUMBERS = ("perf", "smooth_mu", "smooth_sigma", "cavity_mu", "cavity_sigma")


@checked
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
    absent: Absent = "error",
    **hyperparameters: Any,
) -> pd.DataFrame:
    """Smooth a whole history of contests: skills at every contest, given all contests before and after.

    Parameters
    ----------
    results, columns, contest, player, rank, score, time, engine, workers, on_error, duplicates, absent
        As for :func:`ranklake.rate_history`, teams included. Participations whose ``rated`` is false are left out, and
        ``rated_above`` and ``rated_below`` are refused: ``Ratings.rate(results).smooth()`` decides them.
    skip_uninformative
        Skip contests of three or more participants in which all tie. Contests of one participant are always skipped.
    **hyperparameters
        ``tie_mode`` ("full" or "split"), ``beta`` (160), ``skew`` (1), ``lower`` ("normal" or "logistic"), ``gamma``
        (12), ``drift_per_day`` (12, without effect if the results have no times), ``practice`` (6),
        ``practice_rounds`` (20), ``mu_init`` (1500), ``sigma_init`` (350); for teams ``team_noise`` ("team" or
        "members") and ``credit`` ("joint" or "own").

    Returns
    -------
    pd.DataFrame
        One row per participation in order of time: ``round_index, contest, player, lo, hi, perf, smooth_mu,
        smooth_sigma, cavity_mu, cavity_sigma``, ``contest`` and ``player`` as given. ``smooth_mu`` and
        ``smooth_sigma`` are the mean and standard deviation of the skill at this contest, given all contests, and the
        cavity's the same without this contest. ``perf`` is the performance against the cavities of the others.
        With a column of teams also ``team``. ``attrs`` has ``sweeps``, ``skipped``, ``reasons``, ``left_out`` and
        ``absent``.

    Raises
    ------
    ValueError
        Invalid results, or a hyperparameter out of range.
    ConvergenceError
        The sweeps did not converge, or a performance was not found; the message names the contest.
    """
    names = named_columns(columns, contest=contest, player=player, rank=rank, score=score, time=time)
    table = Reading(names, on_error, duplicates, skip_uninformative, absent).read(results)
    table.refuse_columns_in(hyperparameters)
    params = Smoothing(**convert_fields(Smoothing, hyperparameters, "smoothing"))
    if not table.timed:
        check_times(Smoothing, chosen_of(params, hyperparameters), NO_TIMES)
    smoothed = smooth_results(table, params, engine, workers)
    history = pd.DataFrame(smoothed.columns())
    history.attrs |= smoothed.attributes()
    return history


@dataclass(frozen=True, slots=True)
class SmoothedResults:
    """Contests of a frame, smoothed.

    ``reasons`` (uint8[contests]): the reason why a contest was skipped; 0 for those that were smoothed.
    ``rounds``: the smoothed contests, of rated participants.
    """

    results: Results
    reasons: npt.NDArray[Any]
    rounds: Rounds
    smoother: Smoother

    def rows(self) -> npt.NDArray[np.int64]:
        """The row of the frame behind each smoothed participation."""
        rounds = self.results.rounds
        smoothed = np.repeat(self.reasons == 0, np.diff(rounds.offsets))
        rows: npt.NDArray[np.int64] = self.results.rows[smoothed & rounds.are_rated]
        return rows

    def numbers(self) -> dict[str, Any]:
        """The values of each participation: the performance, and the belief with and without this contest."""
        outcome = self.smoother.result()
        return {name: getattr(outcome, name) for name in _NUMBERS}

    def columns(self) -> dict[str, Any]:
        """The table of smoothed skills, one row a participation in order of time."""
        values = {"lo": self.rounds.lo, "hi": self.rounds.hi, **self.numbers()}
        return self.results.table(self.rows(), self.reasons, self.rounds, values)

    def attributes(self) -> dict[str, Any]:
        """The number of sweeps, and the contests skipped, by reason, and left out."""
        return {"sweeps": self.smoother.sweeps} | self.results.skipped(self.reasons)


def smooth_results(results: Results, params: Smoothing, engine: Any, workers: int | None) -> SmoothedResults:
    """Smooth all contests; see :func:`smooth_history`."""
    reasons = Skipping(all_tied=bool(results.reading.skip_uninformative)).reasons(results.rounds)
    rounds = results.rounds.keep(reasons == 0)
    if rounds.teams is not None and rounds.roles.any():
        raise ValueError("results with contests of teams and with unrated participants cannot be smoothed together")
    rounds = rounds.rated_only()
    with open_given_engine(engine, workers) as opened_engine:
        if opened_engine.on_this_machine:
            compile_parts([SMOOTHING])
        try:
            smoother = smooth_rounds(params, rounds, len(results.players), opened_engine)
        except ConvergenceError as error:
            if error.row is None:
                raise
            at = np.flatnonzero(reasons == 0)[np.searchsorted(rounds.offsets, error.row, "right") - 1]
            raise ConvergenceError(f"contest {results.contest(int(at))}: {error.rule}", error.row) from error
    return SmoothedResults(results, reasons, rounds, smoother)
