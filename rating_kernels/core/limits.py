"""Permitted values of hyperparameters and of the numbers of a contest: range, choices and unit.

``dataclasses.field(default=..., metadata=positive("rating points"))`` declares the limits next to the default, and
:func:`.system.check_limits` rejects other values when the parameters are built. Rules for several fields together are
in the classes. All ranges are in this module, one for each unit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

POINTS = "rating points"

# Usual deviations are between 0.08 (the drift of TrueSkill) and 600 points, usual ratings are below 10,000. Scales from
# a thousandth to a million times of that are permitted, with one decade of margin. Squares of two such numbers,
# multiplied by all weights and by the longest time between two contests, are below 1e60: no product overflows.
_POINTS = (1e-9, 1e10)
_RANGES = {
    POINTS: _POINTS,
    "rating points per root of a period": _POINTS,
    "squared rating points a day": (_POINTS[0] ** 2, _POINTS[1] ** 2),
    "hundredths of a rating point an event": (100.0 * _POINTS[0], 100.0 * _POINTS[1]),
    "days": (1e-6, 1e6),  # from a tenth of a second to three millennia
    "rounds": (1e-9, 1e9),
    "wins": (1e-9, 1e9),
    "": (1e-9, 1e9),  # pure numbers: most are factors of about 1
}
_ODDS = 1e-9  # smallest distance of a share from 0 and 1
_MOST_KEPT = 1_000_000  # past performances: memory is exhausted before 64-bit counters are


@dataclass(frozen=True, slots=True)
class Limits:
    """The permitted values of a number or a word.

    ``kind``: "number", "whole number", "choice", "switch" (true or false), "table" (its numbers row by row),
    "names" (of columns).
    ``unit``: of a number; empty for a pure one.
    ``low``, ``high``: bounds of the range.
    ``closed``: the bounds that belong to the range: "" or "both".
    ``choices``: the permitted words of a choice, or the columns of a table.
    ``infinite``: whether +inf is permitted in addition to the range.
    """

    kind: str
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    closed: str = ""
    choices: tuple[str, ...] = ()
    infinite: bool = False

    @property
    def text(self) -> str:
        """The range in a few characters."""
        if self.kind == "choice":
            return ", ".join(self.choices)
        if self.kind == "switch":
            return "true, false"
        if self.kind == "table":
            return f"table of {', '.join(self.choices)}"
        if self.kind == "names":
            return "names, with commas between"
        low, high = (_spelled(end) for end in (self.low, self.high))
        span = f"{low} to {high}" if self.closed == "both" else f"> {low}, < {high}"
        return f"{span}, inf" if self.infinite else span

    @property
    def rule(self) -> str:
        """The range as a phrase in a message: "within 0..1000 rating points"."""
        if self.kind == "choice":
            return f"one of {', '.join(self.choices)}"
        if self.kind == "switch":
            return "true or false"
        if self.kind == "names":
            return "the name of a column"
        if self.kind == "table":
            return f"numbers, in a table with the columns {' and '.join(self.choices)}"
        low, high = (_spelled(end) for end in (self.low, self.high))
        unit = f" {self.unit}" if self.unit else ""
        span = f"within {low}..{high}{unit}" if self.closed == "both" else f"> {low} and < {high}{unit}"
        if self.kind == "whole number":
            span = f"a whole number {span}"
        return f"{span} or inf" if self.infinite else span

    def contains(self, value: float) -> bool:
        """Whether a number lies in the range; NaN does not."""
        if self.infinite and value == math.inf:
            return True
        if self.closed == "both":
            return self.low <= value <= self.high
        return self.low < value < self.high

    def mask(self, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Mask of the numbers of an array that lie in the range; NaN does not."""
        good: npt.NDArray[np.bool_] = (values >= self.low) & (values <= self.high)
        if self.closed != "both":
            good &= (values != self.low) & (values != self.high)
        return good | (values == np.inf) if self.infinite else good


def _spelled(end: float) -> str:
    if abs(end) < 1e7 and end == int(end):
        return str(int(end))
    short = f"{end:g}"
    return short if float(short) == end else repr(end)


# Weight of a contest. Usual are 0.1 to 10; prize money and numbers of participants are permitted too. Variances are
# divided and multiplied by a weight.
WEIGHT = Limits("number", "", 1e-9, 1e9, "both")
# Factor on the precision of a contest's performances, as its length in units. The variance of their noise is divided.
PRECISION = Limits("number", "", 1e-9, 1e9, "both")
# Score of a player in a game: a fraction where halves do not say enough.
SCORE = Limits("number", "", 0.0, 1.0, "both")
# Points in a contest, of any sport: only differences count.
SCORED = Limits("number", "points", -1e9, 1e9, "both")
# Share of a member in a team. Only ratios matter: hours, points, 1 and 2.
SHARE = Limits("number", "", 1e-9, 1e9, "both")
# A ceiling below all ratings moves all players down to it: the range is that of ratings on any scale.
PERF_CEILING = Limits("number", POINTS, -1e12, 1e12, "both", infinite=True)
# Usual advantages are tens of points, on any usual scale of ratings below a thousand. Ten thousand points are odds of
# 10^25 in chess: more is a mistake.
ADVANTAGE = Limits("number", POINTS, -10_000.0, 10_000.0, "both")
# Three million years: variances that grow daily do not overflow. Times in microseconds or nanoseconds, the usual
# mistake, are out of range.
TIME_SECONDS = Limits("whole number", "seconds since 1970", -1e14, 1e14, "both")
# Largest rating or deviation that a round may produce: its fourth power is finite.
LARGEST = 1e60


def limits_of(field: Field[object]) -> Limits:
    """The limits of a field of a parameter class."""
    limits: Limits = field.metadata["limits"]
    return limits


def later(metadata: Mapping[str, Any], before: Any = None) -> Mapping[str, Any]:
    """A parameter that a system did not have at first.

    ``before``: the value with the behaviour before it existed; by default the parameter's default. The configuration of
    a run records any other value only, and means this one if it has none: older runs stay valid.
    """
    return {**metadata, "later": True} | ({} if before is None else {"before": before})


def in_place_of(name: str, said: Mapping[Any, Any], metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """A :func:`later` parameter in place of the one called ``name``, whose values are the keys of ``said``.

    The configuration of a run records a value of ``said`` by its key and the older name: older runs stay valid.
    """
    return {**later(metadata), "older": (name, said)}


def value_before(field: Field[Any]) -> Any:
    """The value of a :func:`later` parameter with the behaviour before it existed; the default of any other one."""
    return field.metadata.get("before", field.default)


def positive(unit: str = "", infinite: bool = False) -> Mapping[str, Limits]:
    """A number > 0 in the range of the unit."""
    low, high = _RANGES[unit]
    return {"limits": Limits("number", unit, low, high, "both", infinite=infinite)}


def non_negative(unit: str = "", infinite: bool = False) -> Mapping[str, Limits]:
    """A number >= 0 in the range of the unit."""
    return {"limits": Limits("number", unit, 0.0, _RANGES[unit][1], "both", infinite=infinite)}


def at_least(low: float, unit: str = "") -> Mapping[str, Limits]:
    """A number >= ``low`` in the range of the unit."""
    return {"limits": Limits("number", unit, low, _RANGES[unit][1], "both")}


def within(low: float, high: float) -> Mapping[str, Limits]:
    """A pure number from ``low`` to ``high``."""
    return {"limits": Limits("number", "", low, high, "both")}


def finite(unit: str = "") -> Mapping[str, Limits]:
    """A number of any sign in the range of the unit."""
    high = _RANGES[unit][1]
    return {"limits": Limits("number", unit, -high, high, "both")}


def fraction() -> Mapping[str, Limits]:
    """A number between 0 and 1, far enough from both that its odds do not overflow."""
    return {"limits": Limits("number", "", _ODDS, 1.0 - _ODDS, "both")}


def share() -> Mapping[str, Limits]:
    """A part of a whole: a pure number > 0, at most 1."""
    return {"limits": Limits("number", "", _ODDS, 1.0, "both")}


def whole(low: int, high: int = _MOST_KEPT, unit: str = "") -> Mapping[str, Limits]:
    """A whole number from ``low`` to ``high``."""
    return {"limits": Limits("whole number", unit, low, high, "both")}


def choice(*words: str) -> Mapping[str, Limits]:
    """One of some words."""
    return {"limits": Limits("choice", choices=words)}


def table(*columns: str) -> Mapping[str, Limits]:
    """Numbers of a table with these columns, row by row; its class has the rules for them."""
    return {"limits": Limits("table", choices=columns)}


def switch() -> Mapping[str, Limits]:
    """True or false."""
    return {"limits": Limits("switch")}


def names() -> Mapping[str, Limits]:
    """Names of columns."""
    return {"limits": Limits("names")}
