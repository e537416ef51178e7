"""The criteria of a search: which metrics a history can have under a filter, and which of its rounds have a value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels.metrics.calibration import CHANCE_METRICS
from ranklake.rating_kernels.metrics.metrics import FILTERS, Filter, keep
from ranklake.rating_kernels.metrics.rank_information import LEAST

from ...common.metric_names import TUNED_METRICS
from ...common.text import count
from .history import TrialRounds
from .scoring import LOG_LOSS3, OF_GAMES
from .trials import DEFAULT_FILTER

_EVERYONE_FOR_GAMES = frozenset({"cross_entropy", "brier", "log2_rank_error", LOG_LOSS3})


def default_filter(metric: str, of_games: bool) -> str:
    """The filter of a search that names none."""
    return "everyone" if of_games and metric in _EVERYONE_FOR_GAMES else DEFAULT_FILTER


def depends_on_kind(metric: str) -> bool:
    """Whether the default filter of a metric is another one for games."""
    return metric in _EVERYONE_FOR_GAMES


def possible_metrics(
    filter: Filter, most_players: int = LEAST, of_games: bool = False, of_two: bool = True
) -> list[str]:
    """The criteria under a filter, of contests with at most so many of its players, or of games.

    ``of_two``: whether all contests are between two.
    """
    chances = {*CHANCE_METRICS, LOG_LOSS3, *(OF_GAMES if of_games else ())}
    return [
        metric
        for metric in TUNED_METRICS
        if not (metric == "rank_information" and most_players < LEAST)
        and not (metric == LOG_LOSS3 and not of_two)
        and not (metric in chances and (filter.top is not None or most_players < 2))
    ]


def check_choices(metric: str, filter: str, train_share: float, **numbers: int | None) -> None:
    """Raise ``ValueError`` for an unknown criterion, an impossible share, or a number below 1; an empty filter is the
    default of the metric.
    """
    for name, value, known in (("metric", metric, TUNED_METRICS), ("filter", filter, tuple(FILTERS))):
        if value not in known and (name, value) != ("filter", ""):
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    if filter:
        check_filter(metric, filter)
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise ValueError(f"{name} must be >= 1, got {number}")
    if not 0.0 < train_share < 1.0:
        raise ValueError(f"train_share must be between 0 and 1, both excluded, got {train_share}")


def check_filter(metric: str, filter: str, of_games: bool = False) -> None:
    """Raise ``ValueError`` if a filter has no such criterion."""
    possible = possible_metrics(FILTERS[filter], 2 if of_games else LEAST, of_games)
    if metric not in possible and FILTERS[filter].top is not None:
        rule = f"filter {filter} selects by place, after which chances are others"
        raise ValueError(f"{rule}: with it, metric must be one of {', '.join(possible)}, got {metric!r}")


def why_no_games(history: TrialRounds, filter: str, contest: str) -> str:
    """Why a history has no chances of a win, a draw and a loss, and the remedy; empty if it has them.

    ``contest``: name of its first contest of three participants or more, see :meth:`.history.TrialRounds.larger`.
    """
    if (larger := history.larger()) is None:
        return ""
    n = int(history.rounds.participants[history.units[larger]])
    possible = ", ".join(possible_metrics(FILTERS[filter], of_two=False))
    return f"{contest} has {n:,} participants, and {LOG_LOSS3} is for games between two; use a {{metric}} of {possible}"


def why_not_scored(train: TrialRounds, filter: str, metric: str) -> str:
    """Why rounds have no value of a metric, and the remedy; empty if they have one."""
    one = FILTERS[filter]
    told = train.n_before >= one.least
    if not np.any(told):
        rule = f"no player with {count(one.least, 'round')} before, so that there is nothing to score"
        return f"{rule}; use a larger {{share}} or another {{filter}}"
    of_two = train.larger() is None
    possible = possible_metrics(one, int(_weights(train, one).max(initial=0)), train.of_games, of_two)
    if metric in possible:
        return ""
    least = LEAST if metric == "rank_information" else 2
    rule = f"no contest with {least} players under filter {one.name}, which {metric} needs"
    return f"{rule}; use a larger {{share}} or a {{metric}} of {', '.join(possible)}"


def scored_rounds(train: TrialRounds, filter: str, metric: str) -> npt.NDArray[np.bool_]:
    """A mask of the rounds that have a value of a metric."""
    least = LEAST if metric == "rank_information" else 2
    return np.asarray(_weights(train, FILTERS[filter]) >= least)


def _weights(train: TrialRounds, filter: Filter) -> npt.NDArray[np.int64]:
    told = train.n_before >= filter.least
    return keep(train.rounds.offsets, train.rounds.lo, told, filter.top, all_tied=True).weight
