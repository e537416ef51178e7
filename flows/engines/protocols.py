"""What engines have in common, and what a distributed engine does: it holds state in actors and calls them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

    def __exit__(self, *ended: object) -> None: ...


@runtime_checkable
class DistributedEngine(Engine, Protocol):
    """Workers in other processes, each with a state of its own."""

    limits: ClusterLimits

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

    ``addresses``: the worker of each actor, as messages name it.
    ``left_out``: workers on which no actor was started, each with the reason.
    """

    size: int
    addresses: list[str]
    left_out: Mapping[str, str]

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
