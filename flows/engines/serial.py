"""The engine without threads."""

from __future__ import annotations

from .threads import Threads


class Serial(Threads):
    """One worker, the calling thread, which runs ``block_size`` items at a time: by default all of them."""

    def __init__(self, block_size: int | None = None) -> None:
        super().__init__(1, block_size)
