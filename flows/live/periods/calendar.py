"""Periods of a log: hours, days or weeks in UTC, by the time at which matches were accepted."""

from __future__ import annotations

from typing import Literal, TypeAlias

PeriodLength: TypeAlias = Literal["hour", "day", "week"]

LENGTHS: tuple[PeriodLength, ...] = ("hour", "day", "week")

_SECONDS = {"hour": 3_600, "day": 86_400, "week": 7 * 86_400}
_MONDAY = 4 * 86_400  # 1970-01-05


def period_number(seconds: int, length: PeriodLength) -> int:
    """The number of the period of a time, as of :func:`ranklake.flows.sources.games.periods.number_of_period`."""
    return (seconds - (_MONDAY if length == "week" else 0)) // _SECONDS[length]


def period_end(number: int, length: PeriodLength) -> int:
    """The end of a period, UTC seconds: the begin of the next one."""
    return (number + 1) * _SECONDS[length] + (_MONDAY if length == "week" else 0)
