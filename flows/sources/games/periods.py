"""Periods: the names and the bounds, in UTC, of hours, days, weeks, months and years."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["PERIODS", "number_of_period", "period_name"]

PERIODS = ("hour", "day", "week", "month", "year")

_UNITS = {"hour": "h", "day": "D", "week": "D", "month": "M", "year": "Y"}
_MONDAY = 4  # 1970-01-05


def number_of_period(time_seconds: npt.NDArray[np.int64], period: str) -> npt.NDArray[np.int64]:
    """The number of the period of each time; 0 is that of 1970-01-05 for weeks, and otherwise of 1970-01-01T00:00."""
    times = time_seconds.astype("datetime64[s]").astype(f"datetime64[{_UNITS[period]}]").astype(np.int64)
    return (times - _MONDAY) // 7 if period == "week" else times


def period_name(number: int, period: str) -> str:
    """The name of a period: ``2024-01-31T13``, ``2024-01-31``, ``2024-W05``, ``2024-01`` or ``2024``."""
    if period == "week":
        thursday = np.array(7 * number + _MONDAY + 3).astype("datetime64[D]")  # in the year that the week belongs to
        year = thursday.astype("datetime64[Y]")
        return f"{year}-W{int((thursday - year.astype('datetime64[D]')).astype(np.int64)) // 7 + 1:02d}"
    return str(np.array(number).astype(f"datetime64[{_UNITS[period]}]"))
