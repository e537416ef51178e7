"""Preview of a contest in Python: standings as a frame, beliefs from a run, from ratings or from a frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ranklake.rating_kernels.core.beliefs import NEVER
from ranklake.storage.names.hints import alike_lines
from ranklake.storage.names.search import Search
from ranklake.storage.runs.stored_run import StoredRun

from ..common.arguments import checked
from ..common.configuration.needed_times import check_to_come
from ..common.skipping import Skipping
from ..common.times import parse_time
from ..common.titles import NONE, Titles, parse_titles
from ..execution.selection import select_beliefs
from ..frames.beliefs import HasBeliefs, InitialBeliefs
from ..frames.kinds import as_kind, open_frame
from ..frames.notebook import warn_user
from ..frames.results import named_columns
from ..results.display import Display
from ..sources.absences import Absent
from ..sources.options import Duplicates
from .frame_standings import standings_from_frame
from .preview import Preview, Rules, preview_round
from .run_preview import RunPreview
from .standings import Standings

__all__ = ["preview"]


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
        next_title_place``. ``expected_place`` is 1 + the sum of the win probabilities of all others.
        ``next_title_place`` is the worst place after which the rating has the next title, with the others in their
        order: missing if no place suffices, and in rounds of more than 100 participants of some systems,
        or of more than 100 members of teams.
        ``next_title_chance`` is the chance of this place or a better one before the round. With a column of teams
        also ``team``, after ``player``; places are then those of teams, and a member reaches its next
        title with its team.

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
    read = standings_from_frame(frame, named_columns(columns), duplicates, absent, entrants, seconds)
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
    latest, (events, last) = int(known.max()) if len(known) else 0, initial.last_event
    given = standings.time_seconds
    events -= given not in (None, 0) and given == last and events > 0  # a division of the last event
    time = latest if given is None else given
    check_to_come(params, time, *((last, latest) if len(known) else ()))
    beliefs = select_beliefs(rating_system, params, store.columns(), np.arange(len(names)))
    factor = rating_system.deviations if deviations is None else deviations
    rules = Rules(Display(rating_system, params, factor), titles, Skipping.of(rating_system))
    texts = [player for player in initial.players if isinstance(player, str)]
    new = [player for player in initial.newcomers_among(names) if isinstance(player, str)]
    notes = alike_lines(new, Search(texts), "", "a newcomer") if new else []
    found = preview_round(rules, standings.at(time), beliefs, events)
    return replace(found, notes=(*notes, *found.notes))
