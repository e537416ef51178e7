"""Win rates: how often one run predicted a round better than another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ranklake.storage import LakeError

from ..common.text import count
from .evaluate import Evaluation
from .scores import METRICS, is_better

__all__ = ["WinRate", "check_comparable", "win_rates"]


class WinRate(NamedTuple):
    """Percent of some rounds that the first run predicted strictly better; equal rounds count half."""

    filter: str
    metric: str
    rounds: str
    n_rounds: int
    percent: float


def check_comparable(one: Evaluation, other: Evaluation) -> None:
    """Raise :class:`LakeError` unless both runs rated the same contests in the same order."""
    if one.first_round == other.first_round and one.contest_ids == other.contest_ids:
        return
    n = min(len(one), len(other))
    differs = next((i for i in range(n) if one.contest_ids[i] != other.contest_ids[i]), None)
    if differs is not None:
        at, theirs = one.contest_ids[differs], other.contest_ids[differs]
        where = f"round {one.first_round + differs} is contest {at} in the first and {theirs} in the second"
    else:
        where = f"they have {one.first_round + len(one):,} and {count(other.first_round + len(other), 'round')}"
    raise LakeError(
        f"runs {one.run} and {other.run} cannot be compared: {where}; bring both up to date with "
        f"`ranklake rate --run {one.run}` and `ranklake rate --run {other.run}`"
    )


def win_rates(one: Evaluation, other: Evaluation) -> Iterator[WinRate]:
    """How often ``one`` is better than ``other``, for every filter and metric: all rounds, divisions, size classes.

    Rounds without a value of either run are left out.

    Notes
    -----
    "An Elo-based rating system for TopCoder SRM", the comparison of systems by rounds won.
    """
    classes = {"all": np.ones(len(one), dtype=bool)}
    classes |= {f"division {number}": one.division == number for number in (1, 2)}
    classes |= {f"{name} players": rounds for name, rounds in one.sizes()}
    for filter in one.filters:
        for metric in METRICS:
            points, scored = _points(one, other, filter, metric)
            for name, rounds in classes.items():
                n = int(np.count_nonzero(rounds & scored))
                if n:
                    yield WinRate(filter, metric, name, n, 100.0 * float(points[rounds & scored].sum()) / n)


def _points(
    one: Evaluation, other: Evaluation, filter: str, metric: str
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """For each round 1, 1/2 or 0 points of ``one``; and a mask of the rounds in which both have a value."""
    a, b = one.filters[filter].per_round(metric), other.filters[filter].per_round(metric)
    if not is_better(metric, 1.0, 0.0):
        a, b = -a, -b
    return (a > b) + 0.5 * (a == b), ~(np.isnan(a) | np.isnan(b))
