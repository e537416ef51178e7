"""The tree of workers, chunks of messages, and their way through one worker."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from typing import Any, TypeVar

import numpy as np
import pytest

from ranklake.flows.engines import relay
from ranklake.flows.engines.relay import Chunk, Outbox, Relay, cut, nbytes, tree
from ranklake.flows.engines.serialization import deserialize, serialize

T = TypeVar("T")

CHUNK_BYTES = 100_000


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(coroutine, 20.0))


@pytest.fixture
def message() -> tuple[Any, list[Any]]:
    """Arrays of odd lengths, and their frames, of which each is several chunks."""
    draw = np.random.default_rng(3)
    arrays = [draw.normal(size=40_001), draw.integers(0, 9, 300_007).astype(np.int8), draw.normal(size=70_000)]
    return arrays, list(serialize(arrays))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 100, 1000])
def test_tree__reaches_every_worker_once(n: int) -> None:
    children = tree(n)
    assert [child for below in children for child in below] == list(range(1, n))
    depth = [0] * n
    for parent, below in enumerate(children):
        assert len(below) <= relay.CHILDREN
        for child in below:
            depth[child] = depth[parent] + 1
    assert max(depth) == n.bit_length() - 1


def test_relay__joins_chunks_in_any_order(message) -> None:
    arrays, frames = message
    pieces = [chunk for number in (1, 2) for chunk in cut(number, frames, CHUNK_BYTES)]
    assert len(pieces) > 2 * len(frames)
    random.Random(7).shuffle(pieces)

    async def take_both() -> list[Any]:
        here, lengths = Relay(), list(map(nbytes, frames))
        first = asyncio.ensure_future(here.take(1, lengths))  # before its chunks
        for at, piece in enumerate(pieces):
            await asyncio.sleep(0)
            assert at == len(pieces) or not (first.done() and any(one.number == 1 for one in pieces[at:]))
            here.put(piece)
        return [await first, await here.take(2, lengths)]

    for received in run(take_both()):
        for found, array in zip(deserialize(received), arrays, strict=True):
            assert np.array_equal(found, array)
            assert found.flags.aligned
        assert all(frame.flags.writeable for frame in received)


def test_relay__reports_missing_memory_to_who_waits() -> None:
    async def take() -> None:
        here = Relay()
        waiting = asyncio.ensure_future(here.take(1, [1 << 60]))
        await asyncio.sleep(0)
        with pytest.raises(MemoryError):
            here.put(Chunk(1, 1 << 60, 0, b"1"))
        with pytest.raises(MemoryError):
            await waiting

    run(take())


def test_outbox__has_a_few_chunks_on_their_way_and_none_after_an_error(message) -> None:
    _, frames = message
    pieces = list(cut(1, frames, CHUNK_BYTES))
    sent: list[Chunk] = []
    now = most = 0

    async def send(chunk: Chunk) -> None:
        nonlocal now, most
        now, most = now + 1, max(most, now + 1)
        await asyncio.sleep(0)
        now -= 1
        if len(sent) == 6:
            raise OSError("cut off")
        sent.append(chunk)

    async def send_all() -> Outbox:
        outbox = Outbox(send)
        await asyncio.gather(*map(outbox.send, pieces))
        return outbox

    outbox = run(send_all())
    assert (str(outbox.error), most) == ("cut off", relay.WINDOW)
    assert sent == pieces[:6]
