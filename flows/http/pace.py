"""When each host may be asked next, and the clock by which that is measured."""

from __future__ import annotations

import threading
import time

__all__ = ["Clock", "Pace"]


class Clock:
    """The time, and the patience to let it pass; tests bring their own."""

    def monotonic(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)


class Pace:
    """When each host may be asked next; shared by all clients of a process, in any thread."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}
        self._lock = threading.Lock()

    def wait(self, host: str, interval_seconds: float, clock: Clock) -> None:
        """Return when it is our turn; the next one's comes ``interval_seconds`` after ours began."""
        with self._lock:
            now = clock.monotonic()
            turn = max(now, self._next.get(host, now))
            self._next[host] = turn + interval_seconds
        if turn > now:
            clock.sleep(turn - now)

    def delay(self, host: str, seconds: float, clock: Clock) -> None:
        """Nobody's turn comes for some time: the host said so."""
        with self._lock:
            self._next[host] = max(self._next.get(host, 0.0), clock.monotonic() + seconds)
