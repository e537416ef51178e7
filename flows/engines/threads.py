"""One machine: the same kernels, which release the interpreter's lock, over ranges in a pool of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from ..common.cpus import available_cpus
from .protocols import Work

_PIECES = 2  # for each of several workers; more would balance the work better, but each has a cost


class Threads:
    """Workers that share the memory of this process: a pool of threads, one of which is the calling thread.

    ``workers``: by default the number of cores that this process may use.
    ``block_size``: items per piece; by default a few pieces for each worker, as some take longer than others.
    """

    on_this_machine = True

    def __init__(self, workers: int | None = None, block_size: int | None = None) -> None:
        self.workers = workers or available_cpus()
        self._pieces = _PIECES * self.workers if self.workers > 1 else 1
        self._block_size = block_size
        self._pool = ThreadPoolExecutor(max(self.workers - 1, 1), thread_name_prefix="ranklake")

    def map(self, work: Work, n: int, *filled: Any) -> None:
        """Call ``work(start, stop)`` for ranges that together cover ``range(n)``; return when all have ended.

        The first exception raised by a range is raised here, after the others have ended.
        """
        step = self._block_size or max(-(-n // self._pieces), 1)
        pieces = iter(range(0, n, step))  # stepping an iterator is atomic: a free thread takes the next piece

        def take() -> None:
            for start in pieces:
                work(start, min(start + step, n))

        others = [self._pool.submit(take) for _ in range(min(self.workers, -(-n // step)) - 1)]
        try:
            take()
        finally:  # a thread that has not started yet would find no piece: it is not waited for
            errors = [other.exception() for other in others if not other.cancel()]
        for error in errors:
            if error is not None:
                raise error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self._pool.shutdown()
