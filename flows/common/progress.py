"""Progress of long work in words: amounts, rate and remaining time, and the lines of a log that have them.

A terminal redraws one line. A log keeps all of them: an early one, and then one at every tenth of the work.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

ProgressCallback = Callable[[int, int | None, str], None]
"""Called with the finished amount, the total amount (None if unknown), and a message."""


def not_shown(done: int, total: int | None, message: str) -> None:
    """Progress that is not shown."""


def in_parts(on_progress: ProgressCallback, number: int, n_parts: int) -> ProgressCallback:
    """The progress of part ``number`` of work in parts of about equal amounts, shown as that of the whole work."""

    def report(done: int, total: int | None, message: str) -> None:
        if total is not None:
            on_progress(number * total + done, n_parts * total, message)

    return report


FIRST_SECONDS = 5.0  # before the first line and between two lines; shorter work has no line
SILENT_SECONDS = 300.0  # maximum time between two lines
STEPS = 10  # lines of work with a known amount


class Pace:
    """The words about the progress of long work: finished and total amount, rate, remaining time. ``units`` is a plural
    noun with an s at its end.

    A decreasing count, a changed amount or other units begin a new phase, with a rate and a remaining time of its own.
    """

    def __init__(self, units: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._units, self._clock = units, clock
        self._began = clock()
        self._first: int | None = None
        self._done = 0
        self._total: int | None = None

    def take(self, done: int, total: int | None, units: str | None = None) -> bool:
        """Note the amounts of this point of the work, and their units; returns whether they begin a new phase."""
        units = units or self._units
        begins = self._first is None or total != self._total or done < self._done or units != self._units
        if begins:
            self._units = units
            self._first, self._total, self._began = done, total, self._clock()
        self._done = done
        return begins

    def words(self, message: str, *, rate: bool = True) -> str:
        """The progress at the last point, with or without the rate, and a message about the current step."""
        done, total, parts = self._done, self._total, list[str]()
        if total:
            parts = [f"{done:,} of {total:,} {self._units} ({100 * done // total} %)"]
        elif done or not message:
            parts = [f"{done:,} {self._units.removesuffix('s') if done == 1 else self._units}"]
        seconds, finished = self._clock() - self._began, done - (self._first or 0)
        if finished > 0 and seconds > 0.0:
            parts += [f"{_rate(finished / seconds)} a second"] if rate else []
            parts += [f"{time_left(seconds * (total - done) / finished)} left"] if total else []
        return ", ".join([*parts, message] if message else parts)


class ProgressLog:
    """Makes the lines of a log for long work; each begins with ``what``, the name of the work.

    A line comes after :data:`FIRST_SECONDS`, at each tenth of a known amount, or of the duration for an unknown one,
    and :data:`SILENT_SECONDS` after the last line.
    """

    def __init__(self, what: str, units: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._pace, self._clock = what, Pace(units, clock), clock
        self._began = self._logged = clock()
        self._step = 0

    def line(self, done: int, total: int | None, message: str, units: str | None = None) -> str | None:
        """The line for this point of the work, or None; ``units`` are those from this phase on, if they change."""
        now = self._clock()
        step = STEPS * done // total if total else 0
        if self._pace.take(done, total, units):
            self._step = step
        since = now - self._logged
        if since < FIRST_SECONDS:
            return None
        if total:
            due = step > self._step or since >= SILENT_SECONDS or self._logged == self._began
        else:
            due = since >= min(0.1 * (now - self._began), SILENT_SECONDS)
        if not due:
            return None
        self._logged, self._step = now, step
        return f"{self._what}: {self._pace.words(message)}"


def time_left(seconds: float) -> str:
    """A duration in at most two units: ``12 s``, ``34 min``, ``1 h 10 min``."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    minutes = math.ceil(seconds / 60.0)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10.0 else f"{rate:.2g}"
