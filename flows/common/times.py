"""Parse times, convert them to dates, and count the rounds until one."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the options of the command import this module
    import numpy as np
    import numpy.typing as npt

__all__ = ["AGES", "count_until", "parse_span", "parse_time", "span_pattern", "utc"]

AGES = "dwy"  # units of the time since a contest
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 31_557_600}  # a year of 365.25 days


def utc(seconds: int) -> datetime:
    """UTC seconds since the epoch as a datetime; ``datetime.fromtimestamp`` fails before 1970 on Windows.

    Raises
    ------
    OverflowError
        The time is outside the years 1 to 9999.
    """
    return _EPOCH + timedelta(seconds=seconds)


def parse_time(text: str) -> int:
    """UTC seconds of a date, a time or a number of seconds.

    Raises
    ------
    ValueError
        The text is none of these.
    """
    if re.fullmatch(r"-?[0-9]{9,18}", text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        rule = f"must be a time as 2020-01-31, 2020-01-31T18:00+03:00 or 1580428800, got {text!r}"
        raise ValueError(rule) from None


def span_pattern(units: str) -> str:
    """The regular expression of durations in some units, of ``smhdwy``."""
    return f"^([1-9][0-9]{{0,6}})([{units}])$"


def parse_span(text: str, units: str) -> int:
    """Seconds of a duration, as 90d or 1y, in one of ``units``.

    Raises
    ------
    ValueError
        The text is no such duration.
    """
    match = re.fullmatch(span_pattern(units), text)
    if match is None:
        raise ValueError(f"must be a duration in units of {', '.join(units)}, got {text!r}")
    return int(match[1]) * _SECONDS[match[2]]


def count_until(ends: npt.NDArray[np.int64], at: int) -> int:
    """The number of rounds until the last one that ended at a time or before. Clocks of sources may go back.

    Parameters
    ----------
    ends : int64[n]
        End of each round, or of the round of each participation, in rated order, UTC seconds; 0 if unknown.
    at
        UTC seconds.
    """
    (until,) = ((ends != 0) & (ends <= at)).nonzero()
    return int(until[-1]) + 1 if len(until) else 0
