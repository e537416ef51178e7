"""The driver's own work beside that of the workers.

While the workers compute a long round, a thread plans the next batch. The next long round is sent by a thread, so that
the workers compute it while the driver writes the last one into its arrays. In shorter rounds the hand-over to a thread
costs more than it gains.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

__all__ = ["Overlap"]

P = ParamSpec("P")
T = TypeVar("T")


class Overlap:
    """Calls that a thread makes in advance in rounds of so many participants, or that are made when needed."""

    def __init__(self, least_rows: int) -> None:
        self._least_rows = least_rows
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="ranklake-overlap")  # one sends, one plans

    def submit(self, n_rows: int, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Callable[[], T]:
        """A function that returns the result of ``call``; a thread makes the call now if the round is long.

        Parameters
        ----------
        n_rows
            Participants of the round that is sent, or is being computed.
        """
        if n_rows >= self._least_rows:
            return self._threads.submit(call, *args, **kwargs).result
        return partial(call, *args, **kwargs)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
