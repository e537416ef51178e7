"""A message for all workers that passes from worker to worker: the driver sends it once.

The workers are a tree. The message is cut into chunks, and each worker passes a chunk on to its children as soon as it
has arrived, so that the time grows with the length of the message and with the depth of the tree, and not with their
product. A worker that its parent does not reach is a child of the driver instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .serialization import Frame, Frames

WINDOW = 4  # chunks on their way to one worker
CHILDREN = 2
ALIGNMENT = 64  # bytes, of each frame of a message: kernels would be compiled again for arrays that are not aligned


class Chunk(NamedTuple):
    """A part of a message: its number and all its bytes, the first byte of the part, and the part."""

    number: int
    total: int
    offset: int
    data: Frame


def tree(n: int) -> list[range]:
    """The children of each of ``n`` workers; the root is the first one."""
    return [range(min(CHILDREN * i + 1, n), min(CHILDREN * (i + 1) + 1, n)) for i in range(n)]


def nbytes(frame: Frame) -> int:
    return memoryview(frame).nbytes


def size(frames: Iterable[Frame]) -> int:
    """Bytes of a message."""
    return sum(map(nbytes, frames))


def cut(number: int, frames: Frames, chunk_bytes: int) -> Iterator[Chunk]:
    """The chunks of a message."""
    offsets, total = _layout(list(map(nbytes, frames)))
    for offset, frame in zip(offsets, frames, strict=True):
        data = np.frombuffer(frame, dtype=np.uint8)
        for start in range(0, len(data), chunk_bytes):
            yield Chunk(number, total, offset + start, data[start : start + chunk_bytes])


class Outbox:
    """Chunks on their way to one worker; ``send`` sends one and returns when the worker has it."""

    def __init__(self, send: Callable[[Chunk], Awaitable[Any]]) -> None:
        self._send, self._window = send, asyncio.Semaphore(WINDOW)
        self._tasks: set[asyncio.Task[None]] = set()
        self.error: Exception | None = None  # the first one; no chunk is sent after it

    def put(self, chunk: Chunk) -> None:
        """Send a chunk in the background."""
        task = asyncio.get_running_loop().create_task(self.send(chunk))
        self._tasks.add(task)  # the loop itself keeps no reference
        task.add_done_callback(self._tasks.discard)

    async def send(self, chunk: Chunk) -> None:
        """Send a chunk when fewer than :data:`WINDOW` are on their way."""
        async with self._window:
            if self.error is None:
                try:
                    await self._send(chunk)
                except Exception as error:
                    self.error = error


class Relay:
    """What one worker receives and passes on. Used on its event loop alone."""

    def __init__(self) -> None:
        self._arriving: dict[int, _Arriving] = {}
        self._outboxes: dict[str, Outbox] = {}

    async def connect(self, children: Mapping[str, str], seconds: float, timeout: float) -> list[str]:
        """Test the connections to the actors with these keys at these addresses; returns those without an answer.

        The others are passed all chunks from now on. ``seconds`` is the timeout for the test, ``timeout`` for a chunk.
        """
        from distributed import get_worker
        from distributed.protocol.serialize import Serialize

        worker = get_worker()
        wrap: Callable[[Frame], Any] = Serialize

        async def execute(address: str, limit: float, function: str, *given: Any) -> None:
            call = worker.rpc(address).actor_execute(actor=children[address], function=function, args=given)
            reply = await asyncio.wait_for(call, limit)
            if reply["status"] != "OK":
                raise reply["exception"]

        async def pass_on(address: str, chunk: Chunk) -> None:
            *place, data = chunk
            await execute(address, timeout, "relay", *place, wrap(data))

        answers = await asyncio.gather(*(execute(one, seconds, "answer") for one in children), return_exceptions=True)
        reached = [one for one, answer in zip(children, answers, strict=True) if answer is None]
        self._outboxes = {one: Outbox(partial(pass_on, one)) for one in reached}
        return [one for one in children if one not in reached]

    def put(self, chunk: Chunk) -> None:
        """Take a chunk, and pass it on. Chunks come in any order, before or after their message is waited for."""
        for outbox in self._outboxes.values():
            outbox.put(chunk)
        self._message(chunk.number).put(chunk)

    async def take(self, number: int, lengths: Sequence[int]) -> Frames:
        """The frames of a message with these lengths, as soon as all of it has arrived. They can be written."""
        message = self._message(number)
        try:
            while message.received < sum(lengths):
                await message.changed.wait()
                message.changed.clear()
                if message.error is not None:
                    raise message.error
        finally:
            del self._arriving[number]
        offsets, _ = _layout(lengths)
        return [message.data[at : at + length] for at, length in zip(offsets, lengths, strict=True)]

    def check(self) -> None:
        """Raise ``OSError`` if a child was not reached."""
        for address, outbox in self._outboxes.items():
            if outbox.error is not None:
                raise OSError(f"it does not reach {address} any more ({outbox.error})") from outbox.error

    def _message(self, number: int) -> _Arriving:
        return self._arriving.setdefault(number, _Arriving())


class _Arriving:
    """A message of which some chunks have arrived."""

    def __init__(self) -> None:
        self.data: npt.NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self.received = 0
        self.error: MemoryError | None = None
        self.changed = asyncio.Event()

    def put(self, chunk: Chunk) -> None:
        data = np.frombuffer(chunk.data, dtype=np.uint8)
        try:
            if not len(self.data):
                self.data = np.empty(chunk.total, dtype=np.uint8)
            self.data[chunk.offset : chunk.offset + len(data)] = data
            self.received += len(data)
        except MemoryError as error:
            self.error = error
            raise
        finally:
            self.changed.set()


def _layout(lengths: Sequence[int]) -> tuple[list[int], int]:
    """Offsets of frames in a message, and its bytes with the gaps."""
    offsets, end = [], 0
    for length in lengths:
        offsets.append(end)
        end += -(-length // ALIGNMENT) * ALIGNMENT
    return offsets, end
