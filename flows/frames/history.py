"""Rate a data frame of results into a data frame of ratings, or smooth it, without a lake.

Smoothed are all skills at every contest, given all contests before and after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranklake.rating_kernels import ConvergenceError, Rounds
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.smoothing.sweeps import Smoother
from ranklake.rating_kernels.warm import SMOOTHING

from ..common.arguments import checked
from ..common.configuration.settings import (
    SystemName,
    check_times,
    choose_preset,
    chosen_of,
    convert_fields,
    display_of_preset,
)
from ..common.skipping import Skipping
from ..compilation.compile import compile_parts
from ..execution.smoothing import smooth_rounds
from ..sources.absences import Absent
from ..sources.base import OnError
from ..sources.options import Duplicates
from .beliefs import HasBeliefs
from .periods import PeriodName
from .rating import open_given_engine, rate_results
from .results import NO_TIMES, Reading, Results, named_columns

_NUMBERS = ("perf", "smooth_mu", "smooth_sigma", "cavity_mu", "cavity_sigma", "log_gain")


@overload
def rate_history(
    results: Any,
    system: SystemName | None = None,
    *,
    preset: str | None = None,
    columns: Mapping[str, str] | None = None,
    contest: str | None = None,
    player: str | None = None,
    rank: str | None = None,
    score: str | None = None,
    time: str | None = None,
    engine: Any = "threads",
    workers: int | None = None,
    beliefs: Mapping[Any, float] | pd.DataFrame | HasBeliefs | None = None,
    return_beliefs: Literal[False] = False,
    skip_uninformative: bool | None = None,
    on_error: OnError = "stop",
    duplicates: Duplicates = "error",
    absent: Absent = "error",
    period: PeriodName | None = None,
    **hyperparameters: Any,
) -> pd.DataFrame: ...


@overload
def rate_history(
    results: Any, system: SystemName | None = None, *, return_beliefs: Literal[True], **options: Any
) -> tuple[pd.DataFrame, pd.DataFrame]: ...


@checked
def rate_history(
    results: Any,
    system: SystemName | None = None,
    *,
    preset: str | None = None,
    columns: Mapping[str, str] | None = None,
    contest: str | None = None,
    player: str | None = None,
    rank: str | None = None,
    score: str | None = None,
    time: str | None = None,
    engine: Any = "threads",
    workers: int | None = None,
    beliefs: Mapping[Any, float] | pd.DataFrame | HasBeliefs | None = None,
    return_beliefs: bool = False,
    skip_uninformative: bool | None = None,
    on_error: OnError = "stop",
    duplicates: Duplicates = "error",
    absent: Absent = "error",
    period: PeriodName | None = None,
    **hyperparameters: Any,
) -> pd.DataFrame | tuple[pd.DataFrame, pd.DataFrame]:
    """Rate a whole history of contests.

    Parameters
    ----------
    results
        A pandas, Polars, Arrow, DuckDB or Dask frame, one row a participation: ``contest, player``, and ``rank`` (lower
        is better, equals tie), ``lo, hi`` (zero-based first and last place of the tie group) or ``score`` (higher is
        better, equals tie); optionally ``time_seconds`` or ``time`` (UTC seconds, dates or datetimes) or ``date``
        (dates or datetimes), ``weight, precision, perf_ceiling``, ``rated`` (whether the rating of the participant may
        change), ``rated_above, rated_below`` (the contest rates ``rated_above <= rating < rated_below``, the display
        rating before it). Other columns are ignored. Rows of a contest may come in any order; contests are rated in
        order of appearance.
    system
        A key of ``ranklake.SYSTEMS``; default: that of ``beliefs``, else ``elo-mmr``. ``hyperparameters`` are its
        parameters, by default those of ``beliefs``.
    preset
        ``dmoj``, ``codechef`` or ``sonas``: a system with hyperparameters, under those that are given. For ``elo-srm``
        its hyperparameter of this name.
    columns
        What the frame calls its columns, by key: ``contest, player, rank, score, lo, hi, time, weight, precision,
        perf_ceiling, rated, rated_above, rated_below, team, share``, as ``--column`` of the command, or ``winner,
        loser, draw, points, opponent_points`` of a frame with a row for each game of two; an empty name means that no
        column is used. ``score``, also beside places, and the points of the winner and of the loser are those that
        margins of victory count. Columns of teams are read only if they are named here: ``team`` has the team of a row,
        ``share`` the member's share in it. The rows of a contest with one team are its members: they have one rank, and
        places count teams. A row without a team is a participant of its own. Shares are positive numbers, of which only
        the ratios in a team matter; without them all members count alike. Only elo-mmr, elo-mmx, elo-mms, trueskill and
        bar have a rule for teams, with a hyperparameter ``team``.
    contest, player, rank, score, time
        The same for one column each.
    engine, workers
        ``serial``, ``threads`` or ``dask``, and the number of workers; or a Dask client, to use its workers. The same
        bits in any case.
    beliefs
        Beliefs before the first contest: :class:`ranklake.Ratings`, a mapping from player to ``mu``, or a frame indexed
        by player (or with a column ``player``) with ``mu`` and optionally ``sigma``, ``n_rounds`` and the other columns
        of the system; ``mu`` is not needed beside a player's own hyperparameters, as ``k`` of elo. Ratings, or a frame
        from ``return_beliefs``, resume exactly. All other players are newcomers.
    return_beliefs
        Also return the final beliefs of all players, including players of ``beliefs`` without a contest.
    skip_uninformative
        None skips contests of one participant, and those of three or more in which all tie if the system's authors
        do so (elo-mmr, elo-mmx, elo-r). True skips the latter for any system; False rates every contest. A draw of two
        players is always rated.
    on_error
        ``stop`` at a contest with invalid rows, or ``skip`` it, with a warning.
    duplicates
        What to do with a player who is in a contest twice: ``error``, or keep the ``best`` or the ``last`` row.
    absent
        What to do with participants without a place (``DNF``, missing, a rank of 0 or below): ``error``; ``last``, one
        tie behind all others; ``drop``, left out. ``none`` takes every number as a place, also ranks from 0.
    period
        ``hour``, ``day``, ``week``, ``month`` or ``year``, for ``fide`` and ``games="simultaneous"`` of glicko and
        glicko2: each contest is a game of two, and all games of a period, in UTC, are rated at the same time.

    Returns
    -------
    pd.DataFrame
        One row per participation in rating order: ``round_index, contest, player, lo, hi, perf, mu_prior, sigma_prior,
        mu, sigma, n_before``, ``contest`` and ``player`` as given; ``attrs["skipped"]`` counts contests skipped,
        ``attrs["reasons"]`` by reason, ``attrs["left_out"]`` lists the faults under ``on_error="skip"``,
        ``attrs["absent"]`` counts the rows without a place,
        ``attrs["violations"]`` violated invariants of the system, with counts. With a column of teams also ``team``;
        ``lo`` and ``hi`` are then places of teams, and ``perf`` is what the team's result shows of the member.
        With a column ``rated``, ``rated_above`` or ``rated_below`` also ``rated``: an unrated participant has a
        performance, the place among the rated ones, and ``mu`` and ``sigma`` as before.

    Raises
    ------
    ValueError
        Invalid results (the message names the contest, the rows with their index labels, and the rule), teams for a
        system without a rule for them, a hyperparameter out of range, invalid beliefs, or beliefs of another system,
        other hyperparameters or other players.
    ConvergenceError
        A round cannot be rated in double precision, or a rating is not a number; the message names the contest, the
        player and the hyperparameters that are probably too extreme.

    Warns
    -----
    UserWarning
        Times go back, contests were left out, ranks count from 0, or no player has beliefs.
    """
    names = named_columns(columns, contest=contest, player=player, rank=rank, score=score, time=time)
    table = Reading(names, on_error, duplicates, skip_uninformative, absent, period).read(results, limits=True)
    chosen, settings = choose_preset(preset, system, hyperparameters)
    display = display_of_preset(preset)
    rated = rate_results(table, chosen, settings, engine=engine, workers=workers, beliefs=beliefs, display=display)
    history = pd.DataFrame(rated.columns())
    history.attrs |= rated.attributes()
    return (history, rated.beliefs.frame()) if return_beliefs else history


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
        ``tie_mode`` ("full" or "split"), ``beta`` (160), ``skew`` (1), ``lower`` ("normal" or "logistic"), ``duel``
        (1), ``resolution`` ("exact" or "rank"), ``gamma`` (12), ``drift_per_day`` (12, without effect if the results
        have no times), ``practice`` (6), ``practice_rounds`` (20), ``mu_init`` (1500), ``sigma_init`` (350); for teams
        ``team_noise`` ("team" or "members") and ``credit`` ("joint" or "own").

    Returns
    -------
    pd.DataFrame
        One row per participation in order of time: ``round_index, contest, player, lo, hi, perf, smooth_mu,
        smooth_sigma, cavity_mu, cavity_sigma, log_gain``, ``contest`` and ``player`` as given. ``smooth_mu`` and
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
