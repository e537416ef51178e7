"""The rank error of EloSRM for any constants, and the search for the best ones.

Source: "An Elo-based rating system for TopCoder SRM", sections 3.1 to 3.9. A trial is a history rated by ``elo-srm``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ranklake.rating_kernels import SYSTEMS, Outcome
from ranklake.rating_kernels.core.beliefs import serial_map
from ranklake.rating_kernels.systems.elo_srm import summarise

from ..data import History

TRIED_ROWS, TRIED_CONTESTS = 400_000, 2_000  # of the history that is rated for each trial


class Constants(NamedTuple):
    """The constants of a change of the rating, as the document names them."""

    k: float
    alpha: float = 0.0
    c: float = 0.0
    m: float = math.inf
    b: float = 0.0
    n: float = 0.0


class Trials:
    """The rank errors of a history by constants."""

    def __init__(self, history: History) -> None:
        offsets = history.rounds.offsets
        stop = min(int(np.searchsorted(offsets, TRIED_ROWS, side="right")) - 1, TRIED_CONTESTS, len(history.rounds))
        self.n_players = len(history.handles)
        self.rounds = history.rounds.part(0, max(stop, 1))
        self._parts = [self.rounds.part(r, r + 1) for r in range(len(self.rounds))]
        self._counts = [bool(part.lo[-1] > 0) for part in self._parts]  # a tie of all has no rank error

    def error(self, constants: Constants) -> float:
        """The mean of |P| over all participants of all rounds."""
        k, alpha, c, m, b, n = constants
        system = SYSTEMS["elo-srm"]
        params = system.params(k=k, alpha=alpha, c=c, m=m, b=b, n_inflation=n)
        beliefs = system.newcomers(params, self.n_players)
        total, rows = 0.0, 0
        for part, counts in zip(self._parts, self._counts, strict=True):
            size = part.n_rows
            outcome = Outcome.empty(size)
            system.prior(params, beliefs, part, 0, size, outcome.prior)
            found = summarise(params, outcome.prior, part, serial_map)
            system.absorb(params, beliefs, part, outcome.prior, found, 0, size, outcome)
            if counts:
                total, rows = total + float(np.abs(found.p).sum()), rows + size
        return total / max(rows, 1)

    def best(self, constants: Constants, *names: Literal["k", "b"]) -> tuple[Constants, float]:
        """The constants with the best values of some of them, in turn, twice if there are several; and their error."""
        error = math.nan
        for name in names * min(len(names), 2):
            constants, error = self._fit(constants, name)
        return constants, error

    def _fit(self, constants: Constants, name: Literal["k", "b"]) -> tuple[Constants, float]:
        """The best value of one constant; the search begins at its value, for K on a logarithmic scale."""
        if name == "b":
            b, error = least(lambda x: self.error(constants._replace(b=x)), constants.b, 16.0)
            return constants._replace(b=b), error
        k, error = least(lambda x: self.error(constants._replace(k=math.exp(x))), math.log(constants.k), 0.4)
        return constants._replace(k=math.exp(k)), error


def least(of: Callable[[float], float], middle: float, reach: float) -> tuple[float, float]:
    """The place and the value of the minimum of a smooth function that has one.

    Parabolas through three points: an interval of ``reach`` to both sides of ``middle`` moves until it holds the
    minimum, and is then reduced to its sixteenth in two steps. The last parabola is far more precise than its points.
    """
    points = {x: of(x) for x in (middle - reach, middle, middle + reach)}
    while (at := min(points, key=points.__getitem__)) in (min(points), max(points)):
        further = at + math.copysign(reach, at - middle)
        points[further] = of(further)
    for _ in range(2):
        middle, _ = lowest(*zip(*sorted(points.items()), strict=True))
        reach *= 0.25
        points = {x: of(x) for x in (middle - reach, middle, middle + reach)}
    return lowest(*zip(*sorted(points.items()), strict=True))


def lowest(x: Sequence[float], error: Sequence[float]) -> tuple[float, float]:
    """The minimum of a curve: of the parabola through its least point and the neighbours; an end of the curve as it is.

    A value without a neighbour at a finite distance (no bound M) is taken as it is.
    """
    at = int(np.argmin(error))
    if at in (0, len(x) - 1) or not np.isfinite(x[at - 1 : at + 2]).all():
        return float(x[at]), float(error[at])
    a, b, c = np.polyfit(np.asarray(x[at - 1 : at + 2]) - x[at], error[at - 1 : at + 2], 2)
    return float(x[at] - b / (2.0 * a)), float(c - b * b / (4.0 * a))
