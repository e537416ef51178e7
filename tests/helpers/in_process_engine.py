"""An engine in this process. Its calls are pickled as for a network, with arrays out of band and read-only."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Container, Sequence
from types import TracebackType
from typing import Any, Self

from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.protocols import EngineError, RemoteCall, WorkersLostError


def travel(message: Any) -> Any:
    """A message after pickling and unpickling."""
    frames: list[pickle.PickleBuffer] = []
    data = pickle.dumps(message, protocol=5, buffer_callback=frames.append)
    return pickle.loads(data, buffers=[bytes(frame.raw()) for frame in frames])


class InProcessActorGroup:
    """Actors in this process."""

    def __init__(
        self,
        make: Callable[..., Any],
        init_args: Callable[[int, int], tuple[Any, ...]],
        size: int,
        engine: InProcessEngine,
    ) -> None:
        self.size, self.sequence, self._engine = size, 0, engine
        self.addresses = [f"actor {place}" for place in range(size)]
        self.left_out = engine.left_out
        self.actors = [make(*travel(init_args(place, size))) for place in range(size)]

    def call_all(
        self, calls: Sequence[Sequence[RemoteCall]], rows: int = 0, to_all: Sequence[RemoteCall] = ()
    ) -> list[list[Any]]:
        self.sequence += 1
        replies = []
        for one, own in zip(self.actors, calls, strict=True):
            replies.append(travel(one.do(self.sequence, travel([*to_all, *own]))))
            if self._engine.of not in ("", *(name for name, _ in own)):
                continue
            self._engine.asked += 1
            if self._engine.asked in self._engine.losses:
                self.actors = []
                raise WorkersLostError(f"a worker is lost at call {self._engine.asked}")
        return replies

    def close(self) -> None:
        self.actors = []


class InProcessEngine:
    """An engine of ``workers`` actors in this process.

    ``losses``: calls, counted over all groups, after which an actor is lost; others may have made theirs by then.
    ``of``: count calls of this name alone.
    ``then``: number of workers after each loss; the last number stays.
    """

    on_this_machine = False  # the kernels of this process are compiled when they are called

    def __init__(
        self,
        workers: int,
        losses: Container[int] = (),
        then: Sequence[int] = (),
        limits: ClusterLimits | None = None,
        of: str = "",
    ) -> None:
        self.limits, self.of = limits or ClusterLimits(), of
        self.workers, self.losses, self._then = workers, losses, list(then)
        self.asked, self.started = 0, 0
        self.left_out: dict[str, str] = {}

    def describe(self) -> str:
        return f"{self.workers} actors in this process"

    def start_actors(
        self, make: Callable[..., Any], init_args: Callable[[int, int], tuple[Any, ...]], max_workers: int | None = None
    ) -> InProcessActorGroup:
        if self.started and self._then:
            self.workers = self._then.pop(0)
        if not self.workers:
            raise EngineError("the engine has no workers")
        self.started += 1
        return InProcessActorGroup(make, init_args, min(self.workers, max_workers or self.workers), self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None
