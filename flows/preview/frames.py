"""Preview of a contest in Python: standings as a frame, beliefs from a run, from ratings or from a frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ranklake.rating_kernels.core.beliefs import NEVER
from ranklake.storage.names.search import Search
from ranklake.storage.runs.stored_run import StoredRun

from ..common.arguments import check_names, checked
from ..common.skipping import Skipping
from ..common.times import parse_time
from ..execution.rater import select_beliefs
from ..frames.beliefs import HasBeliefs, InitialBeliefs, shift_of
from ..frames.kinds import Frame, as_kind, open_frame
from ..frames.notebook import warn_user
from ..frames.results import find_times, named_columns
from ..results.display import Display
from ..results.titles import NONE, Titles, parse_titles
from ..sources.absences import Absent
from ..sources.base import SourceError
from ..sources.column_names import Columns
from ..sources.options import Duplicates, ReadOptions
from ..sources.results import rounds_from_results, with_contest
from .newcomers import name_newcomers
from .preview import Preview, Rules, preview_next
from .run_preview import RunPreview
from .standings import Standings


@checked
def preview(
    ratings: StoredRun | HasBeliefs | Mapping[Any, float] | pd.DataFrame | None,
    standings: Any,
    *,
    entrants: Iterable[Any] = (),
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    absent: Absent = "error",
    time: Any = None,
    titles: Titles | str | None = None,
    deviations: float | None = None,
    system: str | None = None,
    **hyperparameters: Any,
) -> Any:
    """Preview a contest: the rating changes from its standings, which may be partial. Nothing is written.

    The ratings are equal to the bit to those of the contest when it is rated.

    Parameters
    ----------
    ratings
        A run (``Lake.open(path).run(name)``), :class:`ranklake.Ratings`, or beliefs as :func:`ranklake.predict` takes
        them. Players without beliefs are newcomers.
    standings
        A frame of any kind with one row a participant: ``player`` and ``rank``, ``score``, or ``lo`` and ``hi``, as for
        :func:`ranklake.rate_history`; ``contest`` may be missing.
    entrants
        All entrants. Those without a row in the standings count in the field: they share the place after all others.
    columns, duplicates, absent
        As for :func:`ranklake.rate_history`; ``columns`` names those of teams, too.
    time
        End of the contest: UTC seconds, a date or a datetime; default: the time in the standings, else the end of the
        last round.
    titles
        ``codeforces``, ``none``, a file of titles or ``Titles``; default: those of the run, none for beliefs.
    deviations
        The display rating is mu - deviations (sigma - its limit); by default the system's own factor.
    system, **hyperparameters
        Of beliefs that do not tell them, as for :func:`ranklake.predict`.

    Returns
    -------
    frame
        Of the kind of ``standings``, in their order, then the entrants without a place: ``place, player, perf,
        mu_prior, sigma_prior, mu, sigma, rating_before, rating, change, expected_place, next_title, next_title_chance,
        next_title_place, known, near``. ``known`` is False for newcomers, who have no ``rating_before`` and no
        ``change``; ``near`` lists players whose names are similar to that of one of the first 20 newcomers.
        ``expected_place`` is 1 + the sum of the win probabilities of all others.
        ``next_title_place`` is the worst place after which the rating has the next title, with the others in their
        order: missing if no place suffices, and in rounds of more than 100 participants of some systems,
        or of more than 100 members of teams.
        ``next_title_chance`` is the chance of this place or a better one before the round. With a column of teams
        also ``team``, after ``player``; places are then those of teams, and a member reaches its next
        title with its team. Of a game between two, where the ratings know such games, ``win, draw, loss`` are its
        chances before it, on neutral ground.

    Raises
    ------
    ValueError
        Invalid standings or beliefs, a player twice, or a contest that is not rated, as one of one participant.
    ConvergenceError
        The contest cannot be rated.
    LakeError
        The run has no ratings or was interrupted.
    """
    frame = open_frame(standings, "standings")
    seconds = None if time is None else parse_time(time, "time")
    read = _read_standings(frame, named_columns(columns), duplicates, absent, entrants, seconds)
    choice = parse_titles(titles) if isinstance(titles, str) else titles
    if isinstance(ratings, StoredRun):
        if system is not None or hyperparameters:
            raise ValueError("a run has its own system and hyperparameters; leave them out")
        found = RunPreview.open(ratings.lake, ratings.name, deviations, choice, read.players).preview(read)
    else:
        ladder = choice if isinstance(choice, Titles) else NONE
        found = _preview_beliefs(ratings, read, ladder, deviations, system, hyperparameters)
    for note in found.notes:
        warn_user(note)
    table = found.table().rename_columns({"handle": "player"})
    return as_kind(table, frame.kind)


def _preview_beliefs(
    ratings: Any,
    standings: Standings,
    titles: Titles,
    deviations: float | None,
    system: str | None,
    hyperparameters: Mapping[str, Any],
) -> Preview:
    initial = InitialBeliefs.open(ratings, system, hyperparameters)
    rating_system, params = initial.system, initial.params
    names = list(standings.players)
    store, _ = initial.store(names, "the standings")
    known = store.last_time[store.last_time != NEVER]
    events, last = initial.last_event
    beliefs = select_beliefs(rating_system, params, store.columns(), np.arange(len(names)))
    factor = rating_system.deviations if deviations is None else deviations
    display = Display(rating_system, params, factor, shift=shift_of(ratings))
    games = getattr(ratings, "__ranklake_games__", lambda: None)  # Ratings know their games
    rules = Rules(display, titles, Skipping.of(rating_system), games)
    found = preview_next(rules, standings, beliefs, events, (last, int(known.max())) if len(known) else ())
    search = cache(lambda: Search([player for player in initial.players if isinstance(player, str)]))
    near = lambda name: [search().texts[row] for row in search().close(name)]  # noqa: E731
    return name_newcomers(found, set(initial.newcomers_among(names)), near)


def _read_standings(
    frame: Frame,
    columns: Mapping[str, str | None] | None,
    duplicates: Duplicates,
    absent: Absent,
    entrants: Iterable[Any],
    time_seconds: int | None,
) -> Standings:
    """The standings of the one contest in a frame; the players and the names of teams keep their types.

    Raises ValueError: the standings are invalid, or the frame has several contests.
    """
    named = Columns.parse(f"{key}={column}" for key, column in (columns or {}).items() if column is not None)
    named = replace(named, single=True)
    try:
        found = named.find(frame.names, "standings", frame=True)
        found = {key: column for key, column in found.items() if key not in ("name", "url")}
        found = found if time_seconds is not None else find_times(frame, named, found)
        table = frame.arrow(list(dict.fromkeys(found.values())), [found.get("rank"), found.get("score")])
        keys = found
        if "contest" not in found:
            table, keys = with_contest(table, found, "of the preview")
        options = ReadOptions(columns=named, duplicates=duplicates, absent=absent)
        read = rounds_from_results(table, keys, "standings", options)
    except SourceError as error:
        raise ValueError(str(error)) from None
    rounds, rows, limits = read.rounds, read.rows, read.limits
    if len(rounds) != 1:
        raise ValueError(f"standings: a preview takes one contest, got {len(rounds):,}")
    players, entrants = frame.take(found["player"], rows).tolist(), list(entrants)
    _check_entrants(entrants, players)
    if rounds.roles.any():
        rated = rounds.are_rated
        if not rated.any():
            raise ValueError("standings: no participant is rated")
        unrated = {player for player, one in zip(players, rated, strict=True) if not one}
        players, entrants = [one for one in players if one not in unrated], [e for e in entrants if e not in unrated]
        rounds = rounds.rated_only()
    time = int(rounds.time_seconds[0]) if "time" in found else None
    names = table.column(found["team"]).take(pa.array(rows)).to_pylist() if "team" in found else None
    facts = {name: float(getattr(rounds, name)[0]) for name in ("weight", "precision", "perf_ceiling")}
    facts |= {"rated_above": float(limits[0, 0]), "rated_below": float(limits[0, 1])}
    time_seconds = time if time_seconds is None else time_seconds
    return Standings.of(
        players, rounds.lo, rounds.hi, entrants, rounds.teams, names, time_seconds=time_seconds, **facts
    )


def _check_entrants(entrants: list[Any], players: list[Any]) -> None:
    """Refuse entrants that are texts if the players of the standings are numbers, and the reverse."""
    check_names(entrants, "an entrant")
    for entrant in entrants:
        if isinstance(entrant, str) != isinstance(players[0], str):
            rule = f"names must be of the kind of those in the standings, such as {players[0]!r}"
            raise TypeError(f"entrants: {rule}; got {entrant!r}")
