"""Messages to workers: serialised, cut into chunks, passed on; and workers with other code."""

from __future__ import annotations

import asyncio
import gc
import logging
import random
from collections.abc import Coroutine
from typing import Any, TypeVar

import numpy as np
import pytest

from ranklake.flows.engines import relay
from ranklake.flows.engines.environment import PACKAGES, check_environments, environment
from ranklake.flows.engines.protocols import EngineError
from ranklake.flows.engines.relay import Chunk, Outbox, Relay, cut, nbytes, tree
from ranklake.flows.engines.serialization import LARGE, deserialize, embed, serialize

SMALL_ARRAY = np.arange(7, dtype=np.int32)
LARGE_ARRAY = np.arange(LARGE, dtype=np.float64)


def test_serialize__copies_small_arrays_and_not_large_ones() -> None:
    frames = serialize([("put", (SMALL_ARRAY, {"mu": LARGE_ARRAY}))])
    assert len(frames) == 2
    assert np.shares_memory(frames[1], LARGE_ARRAY)
    ((name, (small, columns)),) = deserialize(frames)
    assert name == "put"
    assert small.tobytes() == SMALL_ARRAY.tobytes()
    assert small.dtype == np.int32
    assert small.flags.writeable
    assert np.shares_memory(columns["mu"], LARGE_ARRAY)


def test_serialize__accepts_any_array() -> None:
    for array in (LARGE_ARRAY[::2], LARGE_ARRAY.reshape(2, -1).T, np.empty(0), LARGE_ARRAY.reshape(4, -1)):
        assert np.array_equal(deserialize(serialize(array)), array)


def test_embed__a_message_inside_another_is_serialised_once() -> None:
    to_all = embed(serialize(["receive_priors", LARGE_ARRAY, SMALL_ARRAY]))
    for turn in (1, 2):
        frames = serialize((turn, to_all, ["finish_round"]))
        assert np.shares_memory(frames[1], LARGE_ARRAY)
        number, inner, own = deserialize(frames)
        assert (number, own) == (turn, ["finish_round"])
        name, large, small = deserialize(inner)
        assert name == "receive_priors"
        assert np.shares_memory(large, LARGE_ARRAY)
        assert np.array_equal(small, SMALL_ARRAY)


@pytest.mark.slow
def test_deserialize__arrays_stay_valid_after_the_message_is_collected() -> None:
    """The message is part of a reference cycle, as messages of tasks are."""
    arrived: list[Any] = []
    for _ in range(50):
        array = LARGE_ARRAY.copy()
        inner = embed(serialize([array]))
        frames: list[Any] = list(serialize((inner, array)))
        cycle: list[Any] = [frames, inner, [memoryview(piece)[1:] for piece in frames]]
        cycle.append(cycle)
        arrived += deserialize(frames)[1:]
        del array, inner, frames, cycle
        gc.collect()
    assert all(np.array_equal(one, LARGE_ARRAY) for one in arrived)


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


@pytest.mark.parametrize("what", ["python", "kernels", *PACKAGES])
@pytest.mark.parametrize("there", ["0.1", "not installed", None])
def test_workers__with_other_versions_are_refused_by_name(what: str, there: str | None) -> None:
    worker = environment()
    del worker[what]
    if there is not None:
        worker[what] = there
    told = rf"a worker runs other code: {what} {there or 'unknown'} \(here .*\); install the same ranklake and packages"
    with pytest.raises(EngineError, match=told):
        check_environments([environment(), worker])


def test_workers__with_another_processor_are_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "ranklake.cluster"):
        check_environments([environment() | {"processor": "abacus"}])
    assert [record.getMessage().partition(",")[0] for record in caplog.records] == ["a worker has the processor abacus"]
