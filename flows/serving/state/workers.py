"""Threads that make answers: long computations are at most as many as cores, and others wait without a thread."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from ..messages.problems import Problem

MOST_WAITING = 100

T = TypeVar("T")


class Workers:
    """Threads of a server.

    ``waiting``: number of long computations under way and waiting beyond which none is accepted.
    ``n_long``: number of long computations under way and waiting.
    """

    def __init__(self, waiting: int = MOST_WAITING) -> None:
        self.n_long, self._most = 0, waiting
        self._free = asyncio.Semaphore(os.cpu_count() or 1)

    async def run(self, make: Callable[[], T], long: bool = False) -> T:
        """The result of a computation.

        ``long``: whether it takes time and memory as a leaderboard of an earlier time, a search for similar names, or a
        preview.
        Raises Problem: too many long computations wait.
        """
        if not long:
            return await run_in_threadpool(make)
        if self.n_long >= self._most:
            raise Problem(429, "too many requests wait for a core; ask again in a second")
        self.n_long += 1
        try:
            async with self._free:
                return await run_in_threadpool(make)
        finally:
            self.n_long -= 1
