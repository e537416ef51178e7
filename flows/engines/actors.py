"""One Actor a worker: what is placed there, and how all of them are asked at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from .environment import about
from .protocols import EngineError, RemoteCall, WorkersLostError
from .serialization import Piece, Pieces, enclose, load, unload

__all__ = ["ClusterHandle", "DaskActorGroup", "WorkerActor", "one_line"]

T = TypeVar("T")

ROW_SECONDS = 1e-4  # of patience for every row asked about
INLINE_ROWS = 20_000  # what is done about them takes some 10 ms: a worker does it at once and changes no thread for it


class ClusterHandle(Protocol):
    """Where workers are: the cluster that hired them."""

    address: str
    timeout: float
    closed: bool

    def sync(self, call: Callable[[], Awaitable[T]], seconds: float) -> T:
        """What a coroutine gives that is run by the client: one trip to its thread, however many it asks."""

    def release(self, addresses: Sequence[str]) -> None:
        """Workers have one crew less to be in."""

    def penalise(self, address: str) -> None:
        """Prefer others to a worker that was lost, wherever not all are wanted."""

    def exclude(self, address: str) -> None:
        """Hire a worker that ran out of memory no more."""


class WorkerActor:
    """What is placed on a worker: it takes on a state and carries out orders on it."""

    def __init__(self) -> None:
        self._state: Any = None

    def about(self) -> dict[str, str]:
        """What must be alike everywhere for the same bits."""
        return about()

    def set_state(self, make: Callable[..., Any], init_args: tuple[Any, ...]) -> None:
        self._state = make(*init_args)

    def do(self, *pieces: Piece) -> Pieces:
        """Carry out orders, loaded as the turn, what all are told, if anything, and this one's own.

        Returns
        -------
        list of bytes
            The replies, or what went wrong in them; whatever else is raised on the way tells of a lost worker.
        """
        sequence, to_all, own = unload(pieces)
        try:
            return load((True, self._state.do(sequence, [*(unload(to_all) if to_all else ()), *own])))
        except MemoryError:
            raise
        except Exception as error:
            return load((False, error))

    async def do_at_once(self, *pieces: Piece) -> Pieces:
        """As :meth:`do`, on the worker's event loop: it hears nothing meanwhile, and changes no thread."""
        return self.do(*pieces)


class DaskActorGroup:
    """One member on each of some workers."""

    def __init__(self, place: ClusterHandle, actors: Mapping[str, Any], addresses: Sequence[str]) -> None:
        self._place, self._actors, self._sequence = place, dict(actors), 0
        self._asked_for = addresses

    @property
    def size(self) -> int:
        return len(self._actors)

    def call_all(
        self, calls: Sequence[Sequence[RemoteCall]], rows: int = 0, to_all: Sequence[RemoteCall] = ()
    ) -> list[list[Any]]:
        self._sequence += 1
        seconds = self._place.timeout + ROW_SECONDS * rows
        alike = enclose(load(list(to_all))) if to_all else []
        told = [tuple(load((self._sequence, alike, list(own)))) for own in calls]
        replies = []
        for good, reply in map(unload, self.call("do_at_once" if rows < INLINE_ROWS else "do", told, seconds)):
            if not good:
                raise reply
            replies.append(reply)
        return replies

    def call(self, method: str, arguments: Sequence[tuple[Any, ...]], seconds: float) -> list[Any]:
        """Call a method of every member at once; what they return.

        Raises
        ------
        WorkersLostError
            Whatever kept one from answering.
        """
        failed: list[str] = []
        silent = list(self._actors)

        async def ask_one(address: str, given: tuple[Any, ...]) -> Any:
            try:
                reply = await getattr(self._actors[address][1], method)(*given)
            except Exception:
                failed.append(address)
                self._place.penalise(address)
                raise
            silent.remove(address)
            return reply

        async def ask_all() -> list[Any]:
            return await asyncio.gather(*map(ask_one, list(self._actors), arguments))

        try:
            return self._place.sync(ask_all, seconds)
        except MemoryError as error:
            self._place.exclude(failed[0])
            raise WorkersLostError(f"worker {failed[0]} has run out of memory") from error
        except Exception as error:  # Dask tells of a death in many ways: OSError, RuntimeError, ValueError, its own
            if self._place.closed:
                raise EngineError("the engine was closed") from error
            if failed:
                raise WorkersLostError(f"worker {failed[0]} is lost ({one_line(error)})") from error
            if isinstance(error, TimeoutError):
                self._place.penalise(silent[0])
                raise WorkersLostError(f"worker {silent[0]} has not answered for {seconds:.0f} s") from error
            raise WorkersLostError(f"the connection to {self._place.address} is lost ({one_line(error)})") from error

    def close(self) -> None:
        self._place.release(self._asked_for)
        self._actors, self._asked_for = {}, ()  # the last reference: Dask then frees them


def one_line(error: BaseException) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())
    return text[:200] or type(error).__name__
