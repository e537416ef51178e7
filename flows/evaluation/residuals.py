"""Surprises: performances minus what a system expected, and what they depend on.

A system that uses all information leaves surprises of mean 0, of the spread that it predicts, and uncorrelated with the
player's last surprise, in every group of participations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Outcome, Rounds
from ranklake.rating_kernels.core.standings import Floats, Ints, Longs
from ranklake.rating_kernels.core.system import System
from ranklake.rating_kernels.metrics.metrics import keep
from ranklake.rating_kernels.metrics.rank_information import rank_levels

from ..entrants.entrants import laws_of

CLASSES = r"educational|global|div(?:ision)?\.?\s*1\s*\+\s*div(?:ision)?\.?\s*2|div(?:ision)?\.?\s*[1-4]"
"""The words for a contest's class in the names of Codeforces and TopCoder."""

EXPERIENCED = 5  # rounds before: excludes learning in the first rounds, which would hide other effects
_MOST_CLASSES = 12
_ROUNDS = (0, 1, 2, 3, 5, 10, 20, 50, 100, 200)
_DAYS = (0.0, 2.0, 5.0, 10.0, 20.0, 45.0, 120.0, 365.0)
_LAST = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)  # predicted deviations
_LEVELS = 10

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Surprises:
    """One entry a participation, in the order of the rounds' rows.

    ``surprise``, ``deviation`` (float64[n]): performance minus its expected value, and the predicted standard
    deviation; rating points. NaN where the round gives no performance.
    ``rounds_before`` (int32[n]): rounds of the player before.
    ``days`` (float64[n]): since the player's last round; NaN for a first round.
    ``last`` (float64[n]): the player's last surprise, in its predicted deviations; NaN for a first round.
    """

    surprise: Floats
    deviation: Floats
    rounds_before: Ints
    days: Floats
    level: Floats
    last: Floats
    contest: Longs


class BinSummary(NamedTuple):
    """Surprises of one group of participations.

    ``mean``, ``error``: mean surprise and its standard error, rating points.
    ``spread``, ``predicted``: standard deviation around the mean, and the root mean square of the predicted ones.
    ``correlation``: of each surprise with the player's last one, both in predicted deviations; NaN with fewer than
    three pairs.
    """

    group: str
    participations: int
    mean: float
    error: float
    spread: float
    predicted: float
    correlation: float


def surprises(system: System, params: Any, rounds: Rounds, outcome: Outcome) -> Surprises:
    """The surprises of all participations of a rated history.

    Performances are the system's own. A system without performances has the levels of places in the field of its prior
    laws (:func:`ranklake.rating_kernels.metrics.rank_information.rank_levels`).
    """
    sizes, prior = np.diff(rounds.offsets), outcome.prior._replace(mu=rounds.strengths(outcome.mu_prior))
    law = laws_of(system, params, sizes, rounds.conditions, prior)
    if law is None:
        raise ValueError(f"system {system.name} has no model of performances, and no surprises")
    performance = rounds.strengths(outcome.perf)
    if not system.performs:
        performance = np.full(len(outcome.perf), np.nan)
        kept = keep(rounds.offsets, rounds.lo, np.ones(len(performance), dtype=bool))
        performance[kept.rows] = rank_levels(kept, law.take(kept.rows))
    surprise = performance - law.mean
    surprise[~np.isfinite(surprise)] = np.nan
    contest = np.repeat(np.arange(len(sizes)), sizes)
    before = _row_before(rounds.player)
    first = before < 0
    seconds = rounds.time_seconds[contest].astype(np.float64)
    days = np.where(first, np.nan, (seconds - seconds[before]) / 86_400.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        last = np.where(first, np.nan, (surprise / law.deviation)[before])
    return Surprises(surprise, law.deviation, outcome.n_before, days, outcome.mu_prior, last, contest)


def contest_classes(names: Sequence[str], pattern: str = CLASSES) -> list[str]:
    """The class of each contest: the first text in its name that matches, in one spelling; else "other".

    ``pattern``: regular expression; case does not matter. Full stops and repeated spaces of a match are left out.
    """
    try:
        search = re.compile(pattern, re.IGNORECASE).search
    except re.error as error:
        raise ValueError(f"pattern of contest classes: {error}, got {pattern!r}") from None
    found = [search(name) for name in names]
    texts = [match.group() if match else "" for match in found]
    spelled = (re.sub(r"[\s.]+", " ", one).strip().title().replace("Division", "Div") for one in texts)
    return [name if one else "other" for one, name in zip(texts, spelled, strict=True)]


def breakdowns(measured: Surprises, classes: Sequence[str], counts: Mask) -> Iterator[tuple[str, list[BinSummary]]]:
    """Summaries by rounds before, days, class, level and last surprise; groups without participations are left out.

    ``counts`` (bool[n]): participations to count. All but the first summary have players of at least
    :data:`EXPERIENCED` rounds only.
    """
    counts = counts & np.isfinite(measured.surprise)
    experienced = counts & (measured.rounds_before >= EXPERIENCED)
    rounds = np.searchsorted(_ROUNDS, measured.rounds_before, side="right") - 1
    spans = [f"{a}" if b == a + 1 else f"{a}–{b - 1}" for a, b in pairwise(_ROUNDS)]
    yield "rounds", _grouped(measured, counts, rounds, [*spans, f"{_ROUNDS[-1]}+"])
    dated = experienced & np.isfinite(measured.days)
    if np.ptp(measured.days[dated]) > 0.0 if dated.any() else False:
        days = np.where(np.isfinite(measured.days), np.maximum(measured.days, 0.0), 0.0)
        labels = ["< 2", *(f"{a:g}–{b:g}" for a, b in pairwise(_DAYS[1:])), "365+"]
        yield "days", _grouped(measured, dated, np.searchsorted(_DAYS, days, side="right") - 1, labels)
    labels = _labels(classes)
    class_of = np.array([labels.index(name) if name in labels else labels.index("other") for name in classes])
    yield "class", _grouped(measured, experienced, class_of[measured.contest], labels)
    if experienced.any():
        edges = np.quantile(measured.level[experienced], np.linspace(0.0, 1.0, _LEVELS + 1)[1:-1])
        names = [f"tenth {i + 1}, to {edge:.0f}" for i, edge in enumerate(edges)] + [f"tenth {_LEVELS}"]
        yield "level", _grouped(measured, experienced, np.searchsorted(edges, measured.level, side="left"), names)
    known = experienced & np.isfinite(measured.last)
    names = ["< −2", *(f"{a:g} to {b:g}".replace("-", "−") for a, b in pairwise(_LAST)), "2+"]
    yield "last", _grouped(measured, known, np.searchsorted(_LAST, measured.last, side="right"), names)


def summarise(measured: Surprises, counts: Mask, group: str) -> BinSummary:
    """The summary of some participations."""
    counts = counts & np.isfinite(measured.surprise)
    surprise, deviation = measured.surprise[counts], measured.deviation[counts]
    n = len(surprise)
    if n == 0:
        return BinSummary(group, 0, *[float("nan")] * 5)
    mean, spread = float(surprise.mean()), float(surprise.std())
    pairs = np.isfinite(measured.last[counts])
    latest, last = (surprise / deviation)[pairs], measured.last[counts][pairs]
    related = len(latest) > 2 and latest.std() > 0.0 and last.std() > 0.0
    correlation = float(np.corrcoef(latest, last)[0, 1]) if related else float("nan")
    return BinSummary(group, n, mean, spread / n**0.5, spread, float(np.sqrt(np.mean(deviation**2))), correlation)


def _grouped(measured: Surprises, counts: Mask, of_row: npt.NDArray[Any], labels: Sequence[str]) -> list[BinSummary]:
    summaries = [summarise(measured, counts & (of_row == at), label) for at, label in enumerate(labels)]
    return [summary for summary in summaries if summary.participations]


def _row_before(player: Ints) -> Longs:
    """The row of each player's round before, -1 for a first round."""
    order = np.argsort(player, kind="stable")
    again = player[order[1:]] == player[order[:-1]]
    before = np.full(len(player), -1)
    before[order[1:][again]] = order[:-1][again]
    return before


def _labels(classes: Sequence[str]) -> list[str]:
    """The classes with most contests, by name; "other" last."""
    names, n = np.unique([name for name in classes if name != "other"], return_counts=True)
    most = sorted(names[np.argsort(-n, kind="stable")][:_MOST_CLASSES].tolist())
    return [*most, "other"]
