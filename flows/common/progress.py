"""Progress of long work as lines of a log: an early one, and then one at every tenth of the work.

A terminal redraws one line, a log keeps all of them. Commands without a terminal and Prefect flows use this module.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

__all__ = ["ProgressCallback", "ProgressLog", "time_left"]

ProgressCallback = Callable[[int, int | None, str], None]
"""Called with the finished amount, the total amount (None if unknown), and a message."""

FIRST_SECONDS = 5.0  # before the first line and between two lines; shorter work has no line
SILENT_SECONDS = 300.0  # maximum time between two lines
STEPS = 10  # lines of work with a known amount


class ProgressLog:
    """Makes the lines of a log for long work at the right times.

    Work of a known amount has a line after :data:`FIRST_SECONDS`, at each 10 %, and :data:`SILENT_SECONDS` after the
    last line. Work of an unknown amount has a line after each increase of its duration by a tenth, but no sooner than
    :data:`FIRST_SECONDS` and no later than :data:`SILENT_SECONDS` after the last line. A decreasing count or a changed
    amount begins a new phase, with a rate and a remaining time of its own.

    Parameters
    ----------
    what
        Name of the work, the first words of each line.
    units
        Plural noun of the counted units.
    clock
        Function that returns a time in seconds.
    """

    def __init__(self, what: str, units: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._units, self._clock = what, units, clock
        self._began = self._phase_began = self._logged = clock()
        self._first: int | None = None
        self._done = 0
        self._total: int | None = None
        self._step = 0

    def line(self, done: int, total: int | None, message: str) -> str | None:
        """The line for this point of the work, or None.

        Parameters
        ----------
        done, total
            Finished and total amount; ``total`` is None if unknown.
        message
            Text about the current step.
        """
        now = self._clock()
        if self._first is None or total != self._total or done < self._done:
            self._first, self._total, self._phase_began = done, total, now
            self._step = STEPS * done // total if total else 0
        self._done = done
        step = STEPS * done // total if total else 0
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
        return self._words(done, total, message, now)

    def _words(self, done: int, total: int | None, message: str, now: float) -> str:
        amount = (
            f"{done:,} of {total:,} {self._units} ({100 * done // total} %)" if total else f"{done:,} {self._units}"
        )
        parts = [f"{self._what}: {amount}"]
        seconds, finished = now - self._phase_began, done - (self._first or 0)
        if finished > 0 and seconds > 0.0:
            parts.append(f"{_rate(finished / seconds)} a second")
            if total:
                parts.append(f"{time_left(seconds * (total - done) / finished)} left")
        return ", ".join([*parts, message] if message else parts)


def time_left(seconds: float) -> str:
    """A duration in at most two units: ``12 s``, ``34 min``, ``1 h 10 min``."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    minutes = math.ceil(seconds / 60.0)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10.0 else f"{rate:.2g}"
