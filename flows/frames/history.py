"""Rate a data frame of results into a data frame of ratings, without a lake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

import pandas as pd

from ..common.arguments import checked
from ..common.configuration.settings import SystemName, choose_preset, display_of_preset
from ..sources.absences import Absent
from ..sources.base import OnError
from ..sources.options import Duplicates
from .beliefs import HasBeliefs
from .rating import rate_results
from .results import Reading, named_columns


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
    **hyperparameters: Any,
) -> pd.DataFrame | tuple[pd.DataFrame, pd.DataFrame]:
    """Rate a whole history of contests.

    Parameters
    ----------
    results
        A pandas, Polars, Arrow, DuckDB or Dask frame, one row a participation: ``contest, player``, and ``rank`` (lower
        is better, equals tie), ``lo, hi`` (zero-based first and last place of the tie group) or ``score`` (higher is
        better, equals tie); optionally ``time_seconds`` or ``time`` (UTC seconds, dates or datetimes) or ``date``
        (dates or datetimes), ``weight, perf_ceiling``, ``rated`` (whether the rating of the participant may change),
        ``rated_above, rated_below`` (the contest rates ``rated_above <= rating < rated_below``, the display rating
        before it). Other columns are ignored. Rows of a contest may come in any order; contests are rated in order of
        appearance.
    system
        A key of ``ranklake.SYSTEMS``; default: that of ``beliefs``, else ``elo-mmr``. ``hyperparameters`` are its
        parameters, by default those of ``beliefs``.
    preset
        ``dmoj`` or ``codechef``: a system with hyperparameters, under those that are given. For ``elo-srm`` its
        hyperparameter of this name.
    columns
        What the frame calls its columns, by key: ``contest, player, rank, score, lo, hi, time, weight, perf_ceiling,
        rated, rated_above, rated_below, team, share``, as ``--column`` of the command, or ``winner, loser, draw`` of a
        frame with a row for each game of two; an empty name means that no
        column is used. Columns of teams are read only if they are named here: ``team`` has the team of a row, ``share``
        the member's share in it. The rows of a contest with one team are its members: they have one rank, and places
        count teams. A row without a team is a participant of its own. Shares are positive numbers, of which only the
        ratios in a team matter; without them all members count alike. Only elo-mmr, elo-mmx, elo-mms, trueskill and bar
        have a rule for teams, with a hyperparameter ``team``.
    contest, player, rank, score, time
        The same for one column each.
    engine, workers
        ``serial``, ``threads`` or ``dask``, and the number of workers; or a Dask client, to use its workers. The same
        bits in any case.
    beliefs
        Beliefs before the first contest: :class:`ranklake.Ratings`, a mapping from player to ``mu``, or a frame indexed
        by player (or with a column ``player``) with ``mu`` and optionally ``sigma``, ``n_rounds`` and the other columns
        of the system. Ratings, or a frame from ``return_beliefs``, resume exactly. All other players are newcomers.
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
    table = Reading(names, on_error, duplicates, skip_uninformative, absent).read(results, limits=True)
    chosen, settings = choose_preset(preset, system, hyperparameters)
    display = display_of_preset(preset)
    rated = rate_results(table, chosen, settings, engine=engine, workers=workers, beliefs=beliefs, display=display)
    history = pd.DataFrame(rated.columns())
    history.attrs |= rated.attributes()
    return (history, rated.beliefs.frame()) if return_beliefs else history
