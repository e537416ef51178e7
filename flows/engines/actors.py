"""One Dask Actor on each worker: its code there, and concurrent calls of all of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from .environment import environment
from .protocols import EngineError, RemoteCall, WorkersLostError
from .relay import Chunk, Outbox, Relay, cut, nbytes, size, tree
from .serialization import Frame, Frames, deserialize, embed, serialize

if TYPE_CHECKING:
    from .cluster import Cluster

ROW_SECONDS = 1e-4  # added to the timeout for each row
INLINE_ROWS = 20_000  # fewer rows take at most 10 ms: the worker computes them on its event loop, without a thread


class WorkerActor:
    """The Actor on a worker: holds a state and makes calls on it."""

    def __init__(self) -> None:
        self._state: Any = None
        self._relay = Relay()

    def environment(self) -> dict[str, str]:
        return environment()

    def set_state(self, make: Callable[..., Any], init_args: tuple[Any, ...]) -> None:
        self._state = make(*init_args)

    def do(self, *frames: Frame) -> Frames:
        """Make calls on the state. The message has a sequence number, calls for all workers, and calls for this one.

        Returns list of bytes: the replies, or the exception that a call raised. Any other exception means that the
        worker is lost.
        """
        sequence, to_all, own = deserialize(frames)
        return self._do(sequence, to_all, own)

    async def do_at_once(self, *frames: Frame) -> Frames:
        """As :meth:`do`, on the worker's event loop: no change of thread, but no communication meanwhile."""
        return self.do(*frames)

    async def do_relayed(self, *frames: Frame) -> Frames:
        """As :meth:`do`; the calls for all workers are relayed, and the message has the lengths of their frames."""
        from distributed import get_worker

        (sequence, seconds), lengths, own = deserialize(frames)
        to_all = await asyncio.wait_for(self._relay.take(sequence, lengths), seconds)
        thread = get_worker().executors["actor"]  # that of all other calls
        reply: Frames = await asyncio.get_running_loop().run_in_executor(thread, self._do, sequence, to_all, own)
        self._relay.check()
        return reply

    async def relay_to(self, children: Mapping[str, str], seconds: float, timeout: float) -> list[str]:
        """Pass chunks on to other actors (:meth:`.relay.Relay.connect`)."""
        return await self._relay.connect(children, seconds, timeout)

    async def answer(self) -> None:
        """Show that this worker is reached."""

    async def relay(self, *chunk: Any) -> None:
        """Take a chunk of a relayed message, and pass it on."""
        self._relay.put(Chunk(*chunk))

    def _do(self, sequence: int, to_all: Frames, own: Sequence[RemoteCall]) -> Frames:
        try:
            return serialize((True, self._state.do(sequence, [*(deserialize(to_all) if to_all else ()), *own])))
        except MemoryError:
            raise
        except Exception as error:
            return serialize((False, error))


class DaskActorGroup:
    """One actor on each of some workers.

    ``traffic``: bytes through the driver, by "sent" or "received" and the name of the first call of a message.
    """

    def __init__(
        self, cluster: Cluster, actors: Mapping[str, Any], addresses: Sequence[str], left_out: Mapping[str, str]
    ) -> None:
        self._cluster, self._actors, self._sequence = cluster, dict(actors), 0
        self._asked_for, self.left_out = addresses, left_out
        self.addresses, self.size = list(actors), len(actors)
        self._roots = list(actors)  # the workers that receive from the driver what is relayed
        self.traffic: Counter[tuple[str, str]] = Counter()

    def connect_relays(self, seconds: float) -> None:
        """Have the workers test their connections to each other, and divide relayed messages accordingly."""
        keys = [(address, future.key) for address, (future, _) in self._actors.items()]
        reply_seconds = self._cluster.limits.reply_seconds
        arguments = [(dict(keys[below.start : below.stop]), seconds, reply_seconds) for below in tree(self.size)]
        unreached = self.call("relay_to", arguments, reply_seconds + seconds)
        self._roots = [*self.addresses[:1], *chain.from_iterable(unreached)]

    def call_all(
        self, calls: Sequence[Sequence[RemoteCall]], rows: int = 0, to_all: Sequence[RemoteCall] = ()
    ) -> list[list[Any]]:
        self._sequence += 1
        limits = self._cluster.limits
        seconds = limits.reply_seconds + ROW_SECONDS * rows
        frames = serialize(list(to_all)) if to_all else []
        heading: Any = self._sequence
        shared: Any = embed(frames)
        chunks: list[Chunk] = []
        method = "do_at_once" if rows < INLINE_ROWS else "do"
        if size(frames) * (self.size - 1) >= limits.relay_bytes:  # else each worker is sent all of it
            chunks = list(cut(heading, frames, limits.chunk_bytes))
            heading, shared = (heading, 2 * seconds), list(map(nbytes, frames))
            method = "do_relayed"
        messages = [tuple(serialize((heading, shared, list(own)))) for own in calls]
        answers = self.call(method, messages, seconds, chunks)
        phase = next((name for name, _ in chain(to_all, *calls)), "")
        self.traffic["sent", phase] += sum(map(size, messages)) + len(self._roots) * size(one.data for one in chunks)
        self.traffic["received", phase] += sum(map(size, answers))
        replies = []
        for good, reply in map(deserialize, answers):
            if not good:
                raise reply
            replies.append(reply)
        return replies

    def call(
        self, method: str, arguments: Sequence[tuple[Any, ...]], seconds: float, chunks: Sequence[Chunk] = ()
    ) -> list[Any]:
        """Call a method of all actors concurrently, and send chunks to be relayed; returns their results."""
        failed: list[str] = []
        silent = list(self._actors)

        def lose(address: str) -> None:
            if address not in failed:
                failed.append(address)
                self._cluster.penalise(address)

        async def call_one(address: str, given: tuple[Any, ...]) -> Any:
            try:
                reply = await getattr(self._actors[address][1], method)(*given)
            except Exception:
                lose(address)
                raise
            silent.remove(address)
            return reply

        async def relay_from(root: str) -> None:
            outbox = Outbox(lambda chunk: self._actors[root][1].relay(*chunk))
            await asyncio.gather(*map(outbox.send, chunks))
            if outbox.error is not None:
                lose(root)
                raise outbox.error

        async def call_each() -> list[Any]:
            calls = map(call_one, self._actors, arguments)
            replies = await asyncio.gather(*calls, *(relay_from(root) for root in self._roots if chunks))
            return replies[: self.size]

        try:
            return self._cluster.sync(call_each, seconds)
        except MemoryError as error:
            self._cluster.exclude(failed[0])
            raise WorkersLostError(f"worker {failed[0]} has run out of memory") from error
        except Exception as error:  # Dask raises OSError, RuntimeError, ValueError or others for a lost worker
            if self._cluster.closed:
                raise EngineError("the engine was closed") from error
            if failed:
                raise WorkersLostError(f"worker {failed[0]} is lost ({one_line(error)})") from error
            if isinstance(error, TimeoutError):
                self._cluster.penalise(silent[0])
                raise WorkersLostError(f"worker {silent[0]} has not answered for {seconds:.0f} s") from error
            raise WorkersLostError(f"the connection to {self._cluster.address} is lost ({one_line(error)})") from error

    def close(self) -> None:
        self._cluster.release(self._asked_for)
        self._actors, self._asked_for = {}, ()  # Dask frees actors without references


def one_line(error: BaseException) -> str:
    """The message of an error in one line, cut to 200 characters."""
    text = " ".join(str(error).split())
    return text[:200] or type(error).__name__
