"""Long computations that a server has under way, of limited number."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from ...http.server.problems import Problem

MOST_WAITING = 100

T = TypeVar("T")


class Workers:
    """Threads of a server; beyond ``waiting`` long computations under way and waiting, ``n_long``, none is accepted."""

    def __init__(self, waiting: int = MOST_WAITING) -> None:
        self.n_long, self._most = 0, waiting
        self._free = asyncio.Semaphore(os.cpu_count() or 1)

    async def run(self, make: Callable[[], T], long: bool = False) -> T:
        """The result of a computation; raises Problem: too many long ones wait.

        ``long``: it takes time and memory, as a leaderboard of an earlier time, a search for near names, or a preview.
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
