"""Bounded prefetch: threads fetch a few items ahead of the consumer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

K = TypeVar("K")
T = TypeVar("T")


def prefetch(fetch: Callable[[K], T], keys: Iterable[K], ahead: int, workers: int, name: str) -> Iterator[T]:
    """Results of ``fetch`` in the order of ``keys``; up to ``ahead`` are fetched while an earlier one is in use.

    The iterator may be dropped before its end. It does not wait for its threads then: Python may finalise it in any
    thread, also in a starting one that holds an interpreter lock for which the wait would need.

    ``workers``: threads that fetch.
    ``name``: prefix of the threads' names.
    Raises Exception: the error of ``fetch`` for a key, when its result is due.
    """
    pool = ThreadPoolExecutor(workers, thread_name_prefix=name)
    pending: deque[Future[T]] = deque()
    try:
        for key in keys:
            pending.append(pool.submit(fetch, key))
            if len(pending) > ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
