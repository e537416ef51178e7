"""Times as people type them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

__all__ = ["parse_time"]


def parse_time(text: str) -> int:
    """UTC seconds of a date, a time or a number of seconds.

    Raises
    ------
    ValueError
        It is none of these.
    """
    if re.fullmatch(r"-?[0-9]{9,18}", text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        rule = f"must be a time as 2020-01-31, 2020-01-31T18:00+03:00 or 1580428800, got {text!r}"
        raise ValueError(rule) from None
