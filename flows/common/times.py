"""Read times of every door as UTC seconds, convert them to dates, and count the rounds until one.

Doors are the options of the command, the parameters of the API and of flows, and the arguments in Python. Columns of
times are read by :mod:`ranklake.flows.sources.time_columns`, with the same limits of seconds.
"""

from __future__ import annotations

import math
import re
from calendar import timegm
from datetime import UTC, date, datetime, timedelta
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from .text import described

if TYPE_CHECKING:  # the options of the command import this module
    import numpy as np
    import numpy.typing as npt

AGES = "dwy"  # units of the time since a contest
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 7_258_118_399  # numbers are seconds of the years 1 to 2199
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIME_RULE = "must be a time as 2020-01-31, 2020-01-31T18:00+03:00 or 1580428800"
_UNITS = {"milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
SMALLER_FROM = 10**8  # seconds: smaller units are used from 1973 on only, so that no number fits two units
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 31_557_600}  # a year of 365.25 days


def utc(seconds: int) -> datetime:
    """UTC seconds since the epoch as a datetime; ``datetime.fromtimestamp`` fails before 1970 on Windows.
    ``OverflowError`` outside the years 1 to 9999.
    """
    return _EPOCH + timedelta(seconds=seconds)


def year_of(seconds: int | None) -> int | None:
    """The year of UTC seconds; None if they are unknown (None or 0) or outside the calendar."""
    try:
        return utc(seconds).year if seconds else None
    except OverflowError:
        return None


def year_start(year: int) -> int:
    """The first second of a year, UTC."""
    return timegm((year, 1, 1, 0, 0, 0))


class NoTimeError(ValueError):
    """A value is no time; ``rule`` says what a time must be, without the name of the value."""

    def __init__(self, rule: str, value: Any, name: str = "") -> None:
        huge = isinstance(value, int) and abs(value) > 10**18
        shown = "a number of more than 18 digits" if huge else described(value)
        super().__init__(f"{name} {rule}, got {shown}".lstrip())
        self.rule = rule


def spelled(seconds: int) -> str:
    """UTC seconds as a date with the time of the day; as seconds, if they are outside the calendar."""
    try:
        return f"{utc(seconds).replace(tzinfo=None)} UTC"
    except OverflowError:
        return f"{seconds} s"


def parse_time(value: Any, name: str = "") -> int:
    """A time as UTC seconds, rounded down.

    It is text in ISO 8601 or digits, a number of Unix seconds, a ``datetime`` (``pandas.Timestamp``, too), a ``date``
    or a ``numpy.datetime64``. A time without a zone is UTC, and a date is its first second. Numbers lie within
    ``FIRST_SECOND`` and ``LAST_SECOND``; text of digits has at least nine of them, as shorter ones may be dates. Raises
    ``NoTimeError`` for other and missing values, and numbers in a smaller unit than seconds.
    """
    rule = TIME_RULE if isinstance(value, str) else f"{TIME_RULE}, a date or a datetime"
    seconds = _number(value)
    if seconds is not None and not FIRST_SECOND <= seconds <= LAST_SECOND:
        raise NoTimeError(rule + _unit_hint(seconds), value, name)
    if seconds is None:
        seconds = iso_seconds(value) if isinstance(value, str) else _calendar_seconds(value)
    if seconds is None:
        raise NoTimeError(rule, value, name)
    return seconds


def iso_seconds(text: str) -> int | None:
    """UTC seconds of text in ISO 8601; None for other text."""
    try:
        return timegm(datetime.fromisoformat(text).utctimetuple())
    except (ValueError, OverflowError):
        return None


def _number(value: Any) -> int | None:
    """The whole seconds of a number or of text with at least nine digits; None for other values."""
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"-?[0-9]{9,18}", value) else None
    if isinstance(value, bool) or not isinstance(value, Real) or type(value).__name__ == "timedelta64":
        return None
    if isinstance(value, Integral):
        return int(value)
    return math.floor(number) if math.isfinite(number := float(value)) else None


def _unit_hint(number: int) -> str:
    """What is wrong with a number that is too large: perhaps it is a time in a smaller unit than seconds."""
    for unit, divisor in _UNITS.items():
        if SMALLER_FROM <= abs(number) // divisor <= LAST_SECOND:
            return f"; divide {unit} by {divisor:,}"
    return ", as seconds of the years 1 to 2199"


def are_milliseconds(times: npt.NDArray[np.int64]) -> bool:
    """Whether all times of a column of seconds would be of the years 1973 to 2199 as milliseconds."""
    seconds = times // 1_000
    return bool(((seconds >= SMALLER_FROM) & (seconds <= LAST_SECOND)).all())


def _calendar_seconds(value: Any) -> int | None:
    """UTC seconds of a date or a datetime of any library; None for other values, NaT and years out of range."""
    if type(value).__name__ == "datetime64":
        value = value.astype("M8[us]") if value.dtype.str[-3:-1] in ("ns", "ps", "fs", "as") else value
        value = value.item()
    if not isinstance(value, date) or value != value:  # NaT does not equal itself
        return None
    try:
        return timegm(value.utctimetuple() if isinstance(value, datetime) else value.timetuple())
    except OverflowError:  # the zone leads to the year 0 or 10000
        return None


def span_pattern(units: str) -> str:
    """The regular expression of durations in some units, of ``smhdwy``."""
    return f"^([1-9][0-9]{{0,6}})([{units}])$"


def parse_span(text: str, units: str) -> int:
    """Seconds of a duration, as 90d or 1y, in one of ``units``; ``ValueError`` for other text."""
    match = re.fullmatch(span_pattern(units), text)
    if match is None:
        raise ValueError(f"must be a duration in units of {', '.join(units)}, got {text!r}")
    return int(match[1]) * _SECONDS[match[2]]


def count_until(ends: npt.NDArray[np.int64], at: int) -> int:
    """The number of rounds until the last one that ended at a time or before, as clocks of sources may go back.
    ``ends`` are those of each round or participation, in rated order, UTC seconds; 0 if unknown.
    """
    (until,) = ((ends != 0) & (ends <= at)).nonzero()
    return int(until[-1]) + 1 if len(until) else 0
