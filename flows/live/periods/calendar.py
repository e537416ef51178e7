"""Periods of a log: hours, days or weeks in UTC, by the time at which matches were accepted."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Seconds = TypeVar("Seconds", int, npt.NDArray[np.int64])

PeriodLength: TypeAlias = Literal["hour", "day", "week"]

_SECONDS = {"hour": 3_600, "day": 86_400, "week": 7 * 86_400}
_MONDAY = 4 * 86_400  # 1970-01-05


def period_number(seconds: Seconds, length: PeriodLength) -> Seconds:
    """The number of the period of a time, or of each of some times: those of ``flows.sources.games.periods``."""
    return (seconds - (_MONDAY if length == "week" else 0)) // _SECONDS[length]


def period_end(number: int, length: PeriodLength) -> int:
    """The end of a period, UTC seconds: the begin of the next one."""
    return (number + 1) * _SECONDS[length] + (_MONDAY if length == "week" else 0)
