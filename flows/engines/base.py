"""What an engine offers: ``map`` over ranges, however many hands it has."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self

__all__ = ["ENGINES", "Engine", "Work", "open_engine"]

Work = Callable[[int, int], None]
ENGINES = ("serial", "threads")


class Engine(Protocol):
    """Runs pieces of a round.

    Attributes
    ----------
    workers : int
        Hands that work at the same time.
    """

    workers: int

    def map(self, work: Work, n: int, *filled: Any) -> None:
        """Call ``work(start, stop)`` for ranges that together are ``range(n)``; return when all have ended.

        The first exception raised by a range is raised here, after the others have ended.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_engine(name: str = "threads", workers: int | None = None) -> Engine:
    """An engine by name; ``workers`` defaults to the machine's cores.

    Raises
    ------
    ValueError
        For an unknown name or fewer than one worker.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be >= 1, got {workers}")
    if name == "serial":
        from .serial import Serial

        return Serial()
    if name == "threads":
        from .threads import Threads

        return Threads(workers)
    raise ValueError(f"engine must be one of {', '.join(ENGINES)}, got {name!r}")
