"""What engines offer: one machine's share ranges among hands, a cluster's hold state and are asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

__all__ = [
    "ENGINES",
    "ActorGroup",
    "DistributedEngine",
    "Engine",
    "EngineError",
    "LocalEngine",
    "RemoteCall",
    "Work",
    "WorkersLostError",
    "choose_engine",
    "open_engine",
]

Work = Callable[[int, int], None]
RemoteCall = tuple[str, tuple[Any, ...]]  # a method's name and its arguments
ENGINES = ("serial", "threads", "dask")


class EngineError(RuntimeError):
    """An engine cannot work: nobody there, not the same code, or lost too often."""


class WorkersLostError(EngineError):
    """Workers died, fell silent or ran out of memory, and what they held is gone; others may go on."""


class Engine(Protocol):
    """Something that works, in a ``with`` block.

    Attributes
    ----------
    workers : int
        Hands that work at the same time.
    """

    @property
    def workers(self) -> int: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@runtime_checkable
class LocalEngine(Engine, Protocol):
    """Hands that share this process' memory."""

    def map(self, work: Work, n: int, *filled: Any) -> None:
        """Call ``work(start, stop)`` for ranges that together are ``range(n)``; return when all have ended.

        The first exception raised by a range is raised here, after the others have ended.
        """


@runtime_checkable
class DistributedEngine(Engine, Protocol):
    """Hands in other processes, each with a state of its own."""

    def describe(self) -> str:
        """Where they are, in words."""

    def start_actors(
        self, make: Callable[..., Any], init_args: Callable[[int, int], tuple[Any, ...]], max_workers: int | None = None
    ) -> ActorGroup:
        """One ``make(*terms(i, size))`` on each worker ``i`` there is, or on the ``most`` that have least to do.

        Raises
        ------
        EngineError
            There are no workers, or they run other code.
        WorkersLostError
            Some were lost while they were hired.
        """


class ActorGroup(Protocol):
    """What :meth:`DistributedEngine.start_actors` made, one a worker.

    Attributes
    ----------
    size : int
    """

    @property
    def size(self) -> int: ...

    def call_all(
        self, calls: Sequence[Sequence[RemoteCall]], rows: int = 0, to_all: Sequence[RemoteCall] = ()
    ) -> list[list[Any]]:
        """Have each carry out orders that are the same for all, and then its own, in order; the replies.

        Parameters
        ----------
        rows
            How many rows the largest of these orders work on: more of them may take longer.
        to_all
            What all are told alike: it is packed once.

        Raises
        ------
        WorkersLostError
            Somebody died or did not answer in time. The whole crew is then of no more use.
        """

    def close(self) -> None:
        """Let them go, with what they hold."""


def choose_engine(name: str | None = None, workers: int | None = None, scheduler: str | None = None) -> str:
    """The name of the engine that is meant: ``threads``, or ``dask`` where a scheduler is given, unless it is said.

    Raises
    ------
    ValueError
        For an unknown name, fewer than one worker, or a scheduler with another engine or with workers.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be >= 1, got {workers}")
    name = name or ("dask" if scheduler else "threads")
    if name not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, got {name!r}")
    if scheduler is not None and name != "dask":
        raise ValueError(f"a scheduler goes with engine dask, got engine {name}")
    if scheduler is not None and workers is not None:
        raise ValueError("a cluster's scheduler knows its workers: give a scheduler or workers, not both")
    return name


def open_engine(name: str | None = None, workers: int | None = None, scheduler: str | None = None) -> Engine:
    """An engine; ``workers`` defaults to the machine's cores.

    Parameters
    ----------
    scheduler
        Address of a Dask cluster; without it ``dask`` starts one on this machine.

    Raises
    ------
    ValueError
        As :func:`choose_engine`.
    EngineError
        The scheduler does not answer.
    """
    name = choose_engine(name, workers, scheduler)
    if name == "serial":
        from .serial import Serial

        return Serial()
    if name == "threads":
        from .threads import Threads

        return Threads(workers)
    from .cluster import Cluster

    return Cluster(scheduler) if scheduler else Cluster.local(workers)
