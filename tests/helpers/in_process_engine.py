"""A crew in this process whose orders travel as over a wire: pickled, their arrays out of band and read-only."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Container, Sequence
from types import TracebackType
from typing import Any, Self

from ranklake.flows.engines.protocols import EngineError, RemoteCall, WorkersLostError

__all__ = ["InProcessActorGroup", "InProcessEngine"]


def travel(message: Any) -> Any:
    """What arrives of a message."""
    frames: list[pickle.PickleBuffer] = []
    data = pickle.dumps(message, protocol=5, buffer_callback=frames.append)
    return pickle.loads(data, buffers=[bytes(frame.raw()) for frame in frames])


class InProcessActorGroup:
    """Workers that sit on one bench."""

    def __init__(
        self,
        make: Callable[..., Any],
        init_args: Callable[[int, int], tuple[Any, ...]],
        size: int,
        engine: InProcessEngine,
    ) -> None:
        self.size, self.sequence, self._engine = size, 0, engine
        self.actors = [make(*travel(init_args(place, size))) for place in range(size)]

    def call_all(
        self, calls: Sequence[Sequence[RemoteCall]], rows: int = 0, to_all: Sequence[RemoteCall] = ()
    ) -> list[list[Any]]:
        self.sequence += 1
        replies = []
        for one, own in zip(self.actors, calls, strict=True):
            replies.append(travel(one.do(self.sequence, travel([*to_all, *own]))))
            self._engine.asked += 1
            if self._engine.asked in self._engine.losses:
                self.actors = []
                raise WorkersLostError(f"a worker fell off the bench at order {self._engine.asked}")
        return replies

    def close(self) -> None:
        self.actors = []


class InProcessEngine:
    """An engine of ``workers`` members on one bench.

    Parameters
    ----------
    losses
        Orders, counted over all crews, upon which a member is lost: some of its crew have carried theirs out by then.
    then
        Workers that are left after each loss; as before if there are no more of them.
    """

    def __init__(self, workers: int, losses: Container[int] = (), then: Sequence[int] = ()) -> None:
        self.workers, self.losses, self._then = workers, losses, list(then)
        self.asked, self.hired = 0, 0

    def describe(self) -> str:
        return f"a bench of {self.workers}"

    def start_actors(
        self, make: Callable[..., Any], init_args: Callable[[int, int], tuple[Any, ...]], max_workers: int | None = None
    ) -> InProcessActorGroup:
        if self.hired and self._then:
            self.workers = self._then.pop(0)
        if not self.workers:
            raise EngineError("the bench has no workers")
        self.hired += 1
        return InProcessActorGroup(make, init_args, min(self.workers, max_workers or self.workers), self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None
