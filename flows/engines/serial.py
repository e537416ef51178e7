"""The engine without threads: a loop."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from .protocols import Work


class Serial:
    """Runs all work in the calling thread, ``block_size`` items at a time."""

    workers = 1
    on_this_machine = True

    def __init__(self, block_size: int | None = None) -> None:
        self.block_size = block_size

    def map(self, work: Work, n: int, *filled: Any) -> None:
        step = self.block_size or n
        for start in range(0, n, step or 1):
            work(start, min(start + step, n))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None
