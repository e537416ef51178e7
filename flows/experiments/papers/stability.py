"""Stability of EloSRM's ratings by year: levels, gains, and the performances of newcomers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ranklake.rating_kernels.core.standings import Floats, Longs, Rounds
from ranklake.rating_kernels.metrics.rank_errors import total

from ...common.text import slug as slug_of
from ...plotting.figures import SERIES, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table, of_each
from ..data import History, RatedHistory
from ..published import Contender
from .srm import score_history

LONG = 20  # minimum number of rounds of a player of the cohort
_LEAST = 3  # years; a shorter history is divided into tenths
_TENTHS = 10
_ROWS = ("initial", "Elo", "Elo2")
_HEADINGS = (
    "row", "period", "ratings", "mean rating", "median rating", "mean rating of the cohort", "mean gain",
    "mean P of players rated before", "mean P of newcomers",
)  # fmt: skip


class Periods(NamedTuple):
    """Years or tenths of a history, and the period of each round."""

    names: list[str]
    of_round: Longs


def periods(rounds: Rounds) -> Periods:
    """The years of a history; if it has few, its tenths."""
    years = rounds.time_seconds.astype("datetime64[s]").astype("datetime64[Y]").astype(np.int64) + 1970
    names, of_round = np.unique(years, return_inverse=True)
    if len(names) >= _LEAST:
        return Periods(names.astype(str).tolist(), of_round)
    n = min(_TENTHS, len(rounds))
    return Periods([f"{i + 1} of {n}" for i in range(n)], np.arange(len(rounds)) * n // len(rounds))


def last_ratings(rated: RatedHistory, of_round: Longs) -> tuple[Longs, Longs, Floats]:
    """The last rating in each period of each player who took part in it: period, player, rating."""
    rounds = rated.history.rounds
    of_row = np.repeat(of_round, np.diff(rounds.offsets))
    key = of_row * (int(rounds.player.max()) + 1) + rounds.player
    backwards = len(key) - 1 - np.unique(key[::-1], return_index=True)[1]
    return of_row[backwards], rounds.player[backwards].astype(np.int64), rated.outcome.mu[backwards]


def course(rated: RatedHistory, label: str, found: Periods) -> list[tuple[Any, ...]]:
    """The rows of the table for one rule, one a period."""
    period, player, rating = last_ratings(rated, found.of_round)
    cohort = (np.bincount(rated.history.rounds.player) >= LONG)[player]
    errors = score_history(rated, label).errors
    rows = []
    for at, name in enumerate(found.names):
        here = period == at
        row = {row.name: row for row in total(errors[found.of_round == at])}
        long = rating[here & cohort]
        means = float(rating[here].mean()), float(np.median(rating[here])), float(long.mean()) if len(long) else None
        gains = row["all"].gain, row["existing"].performance, row["first"].performance
        rows.append((label, name, row["all"].participations, *means, *gains))
    return rows


def _stability(context: ExperimentContext, history: History) -> Iterator[Part]:
    found = periods(history.rounds)
    systems = [Contender(name, "elo-srm", {"preset": name}) for name in _ROWS]
    courses = {one.label: course(rated, one.label, found) for one, rated in context.rated(history, systems)}
    slug, caption = slug_of(history.name), f"{history.name}: {len(history.rounds):,} contests"
    yield Picture.of(slug, f"{caption}: levels, gains and newcomers", _figure(courses, found))
    digits = dict.fromkeys(_HEADINGS, 1) | dict.fromkeys(_HEADINGS[-2:], 4) | {"mean gain": 2}
    rows = [row for course in courses.values() for row in course]
    yield Table.of_rows(slug, f"{caption}, by period", _HEADINGS, rows, digits)
    yield f"Found: in {history.name} {'; '.join(_course(label, rows) for label, rows in courses.items())}."


def _course(label: str, rows: list[tuple[Any, ...]]) -> str:
    """One rule's course, in words."""
    cohort = [row[5] for row in rows if row[5] is not None]
    share = np.array([row[2] for row in rows], dtype=float)
    gain = float(share @ np.array([row[6] for row in rows]) / share.sum())
    moved = f"from {cohort[0]:,.0f} to {cohort[-1]:,.0f}" if cohort else "nowhere, as it is empty"
    return f"with {label} the mean rating of the cohort goes {moved}, and the mean gain is {gain:+.1f} points a rating"


def _figure(courses: dict[str, list[tuple[Any, ...]]], found: Periods) -> Any:
    figure, axes = new_figure(11.5, 4.0, columns=3)
    for (label, rows), colour in zip(courses.items(), SERIES, strict=False):
        cohort, gain, newcomers = ([np.nan if row[at] is None else row[at] for row in rows] for at in (5, 6, 8))
        for panel, values in zip(axes, (cohort, gain, newcomers), strict=True):
            panel.plot(found.names, values, "o-", color=colour, label=label, linewidth=1.3, markersize=3)
    titles = (f"mean rating of players with {LONG} rounds", "mean gain, points", "mean P of newcomers")
    for panel, title in zip(axes, titles, strict=True):
        panel.set_title(title)
        panel.set_xlabel("period")
        panel.tick_params("x", rotation=90)
    axes[0].legend(loc="best")
    return figure


EXPERIMENTS = (
    Experiment(
        "stability",
        "Stability of ratings by year",
        "Figure 9 and sections 3.6 to 3.9 of “An Elo-based rating system for TopCoder SRM”",
        of_each(_stability),
        [
            "The sum of all P of a round is positive, so ratings rise by themselves: the document calls this natural "
            "inflation. Players with stable performances should have stable ratings. The row Elo2 adds a bonus for "
            "participation (B) and lets the initial rating grow (N). The levels are those of the players of a period, "
            f"after their last round in it. The cohort are all players with at least {LONG} rounds in the whole "
            "history. The figure of the document has no readable numbers."
        ],
        data="instead",
        least=20,
    ),
)
