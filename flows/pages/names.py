"""Names and dates as pages show them."""

from __future__ import annotations

from functools import lru_cache

from ..common.text import visible
from ..common.times import utc

LONGEST_NAME = 80  # characters of a handle or of a contest's name on a page; data.js has the same
MOST_DAYS = 1 << 16  # in memory as texts: 180 years
_DAY = 86_400


def short(text: str) -> str:
    """A name for a page: visible characters, at most ``LONGEST_NAME`` of them, the rest an ellipsis."""
    shown = visible(text[:LONGEST_NAME])
    return shown if max(len(text), len(shown)) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 1]}…"


def day(seconds: int | None) -> str:
    """The date of a time, UTC; a dash if it is unknown (None or 0) or outside the calendar."""
    return _day(seconds // _DAY) if seconds else "–"


def chance(value: float) -> str:
    """A chance in percent; neither 0 nor 100 %, which would be certain."""
    return f"{min(max(round(value * 100), 1), 99)} %"


@lru_cache(maxsize=MOST_DAYS)
def _day(days: int) -> str:
    try:
        return f"{utc(days * _DAY):%Y-%m-%d}"
    except OverflowError:
        return "–"
