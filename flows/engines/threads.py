"""One machine: the same kernels, which release the interpreter's lock, over ranges in a pool of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from ..common.cpus import available_cpus
from .protocols import Work

_PIECES = 2  # for each worker; more pieces would balance the work better, but each has a cost


class Threads:
    """A pool of ``workers`` threads, one of which is the calling thread.

    ``workers``: by default the number of cores that this process may use.
    ``block_size``: items per piece; by default a few pieces per worker, as some take longer than others.
    """

    on_this_machine = True

    def __init__(self, workers: int | None = None, block_size: int | None = None) -> None:
        self.workers = workers or available_cpus()
        self.block_size = block_size
        self._pool = ThreadPoolExecutor(max(self.workers - 1, 1), thread_name_prefix="ranklake")

    def map(self, work: Work, n: int, *filled: Any) -> None:
        step = self.block_size or max(-(-n // (_PIECES * self.workers)), 1)
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown()
