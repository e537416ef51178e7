"""Predictions from beliefs in memory: of a round, and the rating of a team."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from ranklake.rating_kernels.core.beliefs import NEVER
from ranklake.rating_kernels.core.standings import ROUND_LIMITS
from ranklake.rating_kernels.core.system import check_value
from ranklake.storage.names.hints import unknown_names

from ..common.arguments import check_names, checked
from ..common.configuration.settings import SystemName, check_to_come
from ..common.times import parse_time
from ..execution.rater import select_beliefs
from ..results.display import Display
from ..results.groups import group_level
from .beliefs import HasBeliefs, InitialBeliefs, shift_of
from .lineup import members_of
from .notebook import warn_user
from .prediction import Prediction


@checked
def predict(
    beliefs: Mapping[Any, float] | pd.DataFrame | HasBeliefs | None,
    players: Sequence[Any],
    system: SystemName | None = None,
    *,
    time: Any = None,
    time_seconds: int | None = None,
    weight: float = 1.0,
    perf_ceiling: float = math.inf,
    precision: float = 1.0,
    deviations: float | None = None,
    chances_of: str | None = None,
    **hyperparameters: Any,
) -> Prediction:
    """Predict a round among some players.

    Parameters
    ----------
    beliefs
        :class:`ranklake.Ratings`, or beliefs as :func:`ranklake.rate_history` accepts them, or returns them with
        ``return_beliefs=True``.
    players
        The entrants, at least two; players without beliefs are newcomers, and a warning names them. A list of players
        is a team, which is named by its members, as ``ada+grace``.
    system
        A key of ``ranklake.SYSTEMS``; default: that of ``beliefs``, else ``elo-mmr``. ``hyperparameters`` are its
        parameters, by default those of ``beliefs``.
    time, time_seconds
        End of the round: UTC seconds, a date or a datetime; by default the end of the last rated round in the beliefs.
    weight, perf_ceiling, precision
        Weight, performance ceiling and precision of the round.
    deviations
        The display rating is mu - deviations (sigma - its limit); by default the system's own factor.
    chances_of
        Three chances by the draws and the advantage of games with this value of the column by which a run has learnt
        them; by default of all games. For :class:`ranklake.Ratings` of a run.

    Raises
    ------
    ValueError
        Fewer than two players, a player twice, invalid beliefs, beliefs of another system or other hyperparameters, a
        hyperparameter out of range, or teams for a system without a rule for them.
    """
    initial = InitialBeliefs.open(beliefs, system, hyperparameters)
    rating_system, params = initial.system, initial.params
    entrants = list(players)
    names = list(chain.from_iterable(map(members_of, entrants)))
    check_names(names)
    store, _ = initial.store(names, "the players")
    initial.warn_of_lost_record(system)
    known = store.last_time[store.last_time != NEVER]
    if time is not None and time_seconds is not None:
        raise ValueError(f"time={time!r} and time_seconds={time_seconds!r} exclude each other; give one")
    if time is not None or time_seconds is not None:
        time_seconds = parse_time(*((time_seconds, "time_seconds") if time is None else (time, "time")))
    latest, (events, last) = int(known.max()) if len(known) else 0, initial.last_event
    if time_seconds is None:
        time_seconds = latest
    check_to_come(params, time_seconds, *((last, latest) if len(known) else ()))
    for name, value in (("weight", weight), ("perf_ceiling", perf_ceiling), ("precision", precision)):
        check_value(name, value, ROUND_LIMITS[name])
    columns = select_beliefs(rating_system, params, store.columns(), np.arange(len(names)))
    if new := initial.newcomers_among(names):
        warn_user(f"no rating of {unknown_names(new, initial.players)}: a newcomer in the prediction")
    met = getattr(beliefs, "__ranklake_components__", None)  # Ratings know who met whom
    of_games = getattr(beliefs, "__ranklake_games__", None)  # Ratings know their games
    prediction = Prediction(
        Display(
            rating_system, params, rating_system.deviations if deviations is None else deviations,
            shift=shift_of(beliefs),
        ),
        entrants, columns, time_seconds, events, weight, perf_ceiling, precision, met(names) if met else (),
        games=(lambda: of_games(chances_of)) if of_games else lambda: None,
    )  # fmt: skip
    for note in prediction.notes:
        warn_user(note)
    return prediction


@checked
def team_rating(
    beliefs: Mapping[Any, float] | pd.DataFrame | HasBeliefs | None,
    players: Sequence[Any],
    system: SystemName | None = None,
    *,
    deviations: float | None = None,
    **hyperparameters: Any,
) -> float:
    """The rating of a team of some players: the level that beats all of them at once half of the time.

    Parameters
    ----------
    beliefs, system, hyperparameters, deviations
        As for :func:`ranklake.predict`.
    players
        The members; players without beliefs are newcomers.

    Returns
    -------
    float
        Rating points, of which 400 are odds of ten to one; that of the player for a single one.

    Raises
    ------
    ValueError
        No players, a player twice, invalid beliefs, or a hyperparameter out of range.
    """
    initial = InitialBeliefs.open(beliefs, system, hyperparameters)
    names = list(players)
    check_names(names)
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"player {twice[0]!r} is named twice")
    store, _ = initial.store(names, "the players")
    initial.warn_of_lost_record(system)
    factor = initial.system.deviations if deviations is None else deviations
    display = Display(initial.system, initial.params, factor, shift=shift_of(beliefs))
    members = slice(0, len(names))  # other players of the beliefs follow
    return group_level(display.rating(store.mu[members], store.sigma[members], store.n_rounds[members]).tolist())
