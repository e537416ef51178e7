"""Work that is done by threads ahead of its consumer, a bounded number of steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["prefetch"]

K = TypeVar("K")
T = TypeVar("T")


def prefetch(fetch: Callable[[K], T], keys: Iterable[K], ahead: int, workers: int, name: str) -> Iterator[T]:
    """Results of ``fetch`` in the order of ``keys``; up to ``ahead`` are fetched while an earlier one is in use.

    The iterator may be dropped before its end. Its threads are then not waited for: Python may finalise it in any
    thread, also in one that is just starting and holds a lock of the interpreter that the wait would need.

    Parameters
    ----------
    workers
        Threads that fetch.
    name
        Prefix of the threads' names.

    Raises
    ------
    Exception
        Whatever ``fetch`` raises for a key, at its turn.
    """
    pool = ThreadPoolExecutor(workers, thread_name_prefix=name)
    coming: deque[Future[T]] = deque()
    try:
        for key in keys:
            coming.append(pool.submit(fetch, key))
            if len(coming) > ahead:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
