"""Values that are kept for their next use, within a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """The most recently used values, of limited size; safe for threads.

    ``size``: the bytes of a value, with its key. A value of more than a ``share`` of ``most_bytes`` is not kept.
    """

    def __init__(self, most_bytes: int, size: Callable[[T], int], share: float = 1.0) -> None:
        self._values: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._most, self._most_of_one, self._size_of = most_bytes, most_bytes * share, size
        self._lock = threading.Lock()
        self.n_bytes = self.hits = self.misses = 0

    def get(self, key: Hashable) -> T | None:
        """The value, if it is there."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                self.misses += 1
                return None
            self.hits += 1
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: T) -> None:
        """Add a value, and remove the least recently used ones beyond the limit."""
        size = self._size_of(value)
        if size > self._most_of_one:
            return
        with self._lock:
            self._remove(key)
            self._values[key] = value, size
            self.n_bytes += size
            while self.n_bytes > self._most:
                self._remove(next(iter(self._values)))

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._values.clear()
            self.n_bytes = 0

    def _remove(self, key: Hashable) -> None:
        _, size = self._values.pop(key, (None, 0))
        self.n_bytes -= size
