"""The axes of a graph: round numbers, places, beginnings of years, months and days, and the width of texts."""

from __future__ import annotations

import math
import unicodedata
from datetime import UTC, datetime

from ..answers.distribution import nice_width
from ..common.times import utc

DAY = 86_400
MOST_TIMES = 8  # marks on the axis of times
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000)  # between two marks
_STEPS = (1, 2, 5)  # of places, times a power of ten


def multiples(low: float, high: float, about: int) -> list[float]:
    """The multiples of a round number from ``low`` to ``high``, ascending: ``about`` so many or fewer."""
    step = nice_width((high - low) / about)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def place_marks(best: float, worst: float, most: int) -> list[int]:
    """Round places from ``best`` to ``worst``, ascending: at most ``most`` of 1, 2, 5, 10, ..., else powers of ten."""
    powers = [10**k for k in range(math.ceil(math.log10(max(worst, 1))) + 1)]
    for steps in (_STEPS, (1,)):
        marks = [step * power for power in powers for step in steps if best <= step * power <= worst]
        if len(marks) <= most:
            break
    return marks


def time_marks(first: float, last: float, most: int = MOST_TIMES) -> list[tuple[int, str]]:
    """The beginnings of years, of months or of days between two times, with their texts; at most about ``most``."""
    try:
        start, stop = (time.year * 12 + time.month - 1 for time in (utc(math.floor(at)) for at in (first, last)))
    except OverflowError:
        return []
    if stop - start >= 3:
        every = next(step for step in _MONTHS if (stop - start) / step <= most)
        months = [divmod(month, 12) for month in range(start + 1, stop + 1) if month % every == 0]
        begins = [datetime(year, month + 1, 1, tzinfo=UTC) for year, month in months]
        return [(int(time.timestamp()), f"{time:%Y-%m}" if time.month > 1 else f"{time:%Y}") for time in begins]
    day = DAY * max(1, math.ceil((last - first) / DAY / (0.75 * most)))
    return [(t, f"{utc(t):%Y-%m-%d}") for t in range(math.ceil(first / day) * day, math.floor(last) + 1, day)]


def columns_of(text: str) -> int:
    """The width of a text in characters of usual width; those of East Asian scripts are two."""
    return sum(2 if unicodedata.east_asian_width(character) in "FW" else 1 for character in text)


def cut(text: str, columns: int) -> str:
    """The beginning of a text that has so many columns, with an ellipsis for the rest."""
    if columns_of(text) <= columns:
        return text
    width, kept = 1, ""
    for character in text:
        width += columns_of(character)
        if width > columns:
            break
        kept += character
    return f"{kept}…"
