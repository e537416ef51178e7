"""The earliest time of the next request to each host, and the clock that measures it."""

from __future__ import annotations

import threading
import time


class Clock:
    """Time and sleep; tests use their own."""

    def monotonic(self) -> float:
        """Seconds of a monotonic clock."""
        return time.monotonic()

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class Pace:
    """Spaces out the requests to each host; shared by all clients and threads of a process."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}
        self._lock = threading.Lock()

    def wait(self, host: str, interval_seconds: float, clock: Clock) -> None:
        """Wait until a request may be sent; the next one may follow after ``interval_seconds``."""
        with self._lock:
            now = clock.monotonic()
            turn = max(now, self._next.get(host, now))
            self._next[host] = turn + interval_seconds
        if turn > now:
            clock.sleep(turn - now)

    def delay(self, host: str, seconds: float, clock: Clock) -> None:
        """Send no request for some time, because the host asked for a pause."""
        with self._lock:
            self._next[host] = max(self._next.get(host, 0.0), clock.monotonic() + seconds)
