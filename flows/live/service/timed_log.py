"""A log that counts the seconds of its appends."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from ..log.records import Entry, Log, Record


class TimedLog:
    """A log; ``seconds`` is the time of all appends together."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.seconds = 0.0

    @property
    def last(self) -> int:
        return self._log.last

    @property
    def available(self) -> bool:
        return self._log.available

    def begin_after(self, sequence: int) -> None:
        self._log.begin_after(sequence)

    def append(self, entries: Sequence[Entry], received: float) -> int:
        began = time.perf_counter()
        try:
            return self._log.append(entries, received)
        finally:
            self.seconds += time.perf_counter() - began

    def read(self, start: int = 1) -> Iterator[Record]:
        return self._log.read(start)

    def find(self, ids: Sequence[str]) -> list[Record | None]:
        return self._log.find(ids)

    def release(self, before: int) -> None:
        self._log.release(before)

    def close(self) -> None:
        self._log.close()
