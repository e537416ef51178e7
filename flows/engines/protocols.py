"""Protocols of engines: local engines map ranges; distributed engines hold state in actors and call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

from .limits import ClusterLimits

Work = Callable[[int, int], None]
RemoteCall = tuple[str, tuple[Any, ...]]  # a method's name and its arguments


class EngineError(RuntimeError):
    """An engine cannot work: no workers, workers with other code, or workers lost too often."""


class WorkersLostError(EngineError):
    """Workers died, timed out or ran out of memory, and their state is lost. A new group of actors may work."""


class Engine(Protocol):
    """An engine runs work inside a ``with`` block.

    ``workers``: number of threads or processes that work at the same time.
    ``on_this_machine``: whether the workers use this machine's cache of compiled kernels.
    """

    @property
    def workers(self) -> int: ...

    @property
    def on_this_machine(self) -> bool: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@runtime_checkable
class LocalEngine(Engine, Protocol):
    """Workers that share the memory of this process."""

    def map(self, work: Work, n: int, *filled: Any) -> None:
        """Call ``work(start, stop)`` for ranges that together cover ``range(n)``; return when all have ended.

        The first exception raised by a range is raised here, after the others have ended.
        """


@runtime_checkable
class DistributedEngine(Engine, Protocol):
    """Workers in other processes, each with a state of its own.

    ``limits``.
    """

    @property
    def limits(self) -> ClusterLimits: ...

    def describe(self) -> str:
        """A text with the address and the number of workers."""

    def start_actors(
        self, make: Callable[..., Any], init_args: Callable[[int, int], tuple[Any, ...]], max_workers: int | None = None
    ) -> ActorGroup:
        """Start the actor ``make(*init_args(i, size))`` on each worker ``i`` of ``size``.

        ``max_workers``: use at most that many workers, those with the fewest actors; None for all.
        Raises EngineError: there are no workers, or they run other code.
        Raises WorkersLostError: workers were lost during the start.
        """


class ActorGroup(Protocol):
    """The actors of one :meth:`DistributedEngine.start_actors`, one on each worker.

    ``size``.
    ``addresses``: the worker of each actor, as messages name it.
    ``left_out``: workers on which no actor was started, each with the reason.
    """

    @property
    def size(self) -> int: ...

    @property
    def addresses(self) -> list[str]: ...

    @property
    def left_out(self) -> Mapping[str, str]: ...

    def call_all(
        self, calls: Sequence[Sequence[RemoteCall]], rows: int = 0, to_all: Sequence[RemoteCall] = ()
    ) -> list[list[Any]]:
        """Make calls on each actor, in order: first those for all, then its own; returns the replies to each.

        ``rows``: number of rows of the largest call; the timeout grows with it.
        ``to_all``: calls that are the same for all actors; they are serialised once.
        Raises WorkersLostError: a worker died or did not reply in time. The whole group is then useless.
        """

    def close(self) -> None:
        """Release the workers and the state of the actors."""
