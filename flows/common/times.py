"""Parse times, and convert them to dates."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

__all__ = ["parse_time", "utc"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
