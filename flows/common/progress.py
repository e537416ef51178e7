"""Progress of long work as lines of a log: early, then at every tenth of the work, never many and never none.

A terminal redraws one line, a log keeps all of them. The commands without a terminal and the Prefect flows both take
their lines from here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

__all__ = ["ProgressCallback", "ProgressLog", "time_left"]

ProgressCallback = Callable[[int, int | None, str], None]
"""Called with how much is done, of how much (None if unknown), and a message."""

FIRST_SECONDS = 5.0  # after the start, and at least between two lines: shorter work has none
SILENT_SECONDS = 300.0  # at most between two lines, whatever a tenth of the work takes
STEPS = 10  # lines over the whole work, when its amount is known


class ProgressLog:
    """Decides when long work is due for a line in a log, and writes that line.

    Work whose amount is known has a line after :data:`FIRST_SECONDS`, one at each 10 %, and one whenever
    :data:`SILENT_SECONDS` passed without. Work of unknown amount has a line whenever its duration grew by a tenth, but
    no sooner than :data:`FIRST_SECONDS` and no later than :data:`SILENT_SECONDS` after the line before. A count that
    falls or an amount that changes begins a new phase: rate and time left are those of the phase.

    Parameters
    ----------
    what
        Name of the work, the first words of each line.
    units
        Noun of the units that are counted, in the plural.
    clock
        Seconds since some moment.
    """

    def __init__(self, what: str, units: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._units, self._clock = what, units, clock
        self._began = self._phase_began = self._logged = clock()
        self._first: int | None = None
        self._done = 0
        self._total: int | None = None
        self._step = 0

    def line(self, done: int, total: int | None, message: str) -> str | None:
        """The line that is due at this point of the work; None if none is.

        Parameters
        ----------
        done, total
            How much is done, of how much; ``total`` is None while that is unknown.
        message
            The current step or the speed, in words.
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
    """A span of time in two units at most, as an estimate is read: ``12 s``, ``34 min``, ``1 h 10 min``."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    minutes = math.ceil(seconds / 60.0)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10.0 else f"{rate:.2g}"
