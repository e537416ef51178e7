"""A crew in this process whose orders travel as over a wire: pickled, their arrays out of band and read-only."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Container, Sequence
from types import TracebackType
from typing import Any, Self

from ranklake.flows.engines.base import EngineError, HandsLostError, Order

__all__ = ["Bench", "BenchCrew"]


def travel(message: Any) -> Any:
    """What arrives of a message."""
    frames: list[pickle.PickleBuffer] = []
    data = pickle.dumps(message, protocol=5, buffer_callback=frames.append)
    return pickle.loads(data, buffers=[bytes(frame.raw()) for frame in frames])


class BenchCrew:
    """Workers that sit on one bench."""

    def __init__(
        self, make: Callable[..., Any], terms: Callable[[int, int], tuple[Any, ...]], size: int, engine: Bench
    ) -> None:
        self.size, self.turn, self._engine = size, 0, engine
        self.members = [make(*travel(terms(place, size))) for place in range(size)]

    def ask(self, orders: Sequence[Sequence[Order]], rows: int = 0, to_all: Sequence[Order] = ()) -> list[list[Any]]:
        self.turn += 1
        replies = []
        for one, own in zip(self.members, orders, strict=True):
            replies.append(travel(one.do(self.turn, travel([*to_all, *own]))))
            self._engine.asked += 1
            if self._engine.asked in self._engine.losses:
                self.members = []
                raise HandsLostError(f"a worker fell off the bench at order {self._engine.asked}")
        return replies

    def dismiss(self) -> None:
        self.members = []


class Bench:
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

    def line(self) -> str:
        return f"a bench of {self.workers}"

    def hire(
        self, make: Callable[..., Any], terms: Callable[[int, int], tuple[Any, ...]], most: int | None = None
    ) -> BenchCrew:
        if self.hired and self._then:
            self.workers = self._then.pop(0)
        if not self.workers:
            raise EngineError("the bench has no workers")
        self.hired += 1
        return BenchCrew(make, terms, min(self.workers, most or self.workers), self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None
