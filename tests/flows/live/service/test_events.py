"""Events of the log as a stream: after a number, and as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

pytest.importorskip("starlette")
from helpers.live_matches import MemoryLog, duels

from ranklake.flows.http.server.problems import Problem
from ranklake.flows.http.server.streams import Listeners
from ranklake.flows.live.log.records import Entry, Record
from ranklake.flows.live.periods.logged import entry_of
from ranklake.flows.live.service.events import KEPT_EVENTS, REBASED, Event, Events, event_of, event_of_record
from ranklake.storage import MissingError

MATCHES = duels(12)


def append(log: MemoryLog, events: Events | None, start: int, stop: int) -> None:
    """Accept some matches: in the log, and told."""
    entries = [entry_of(match, "") for match in MATCHES[start:stop]]
    first = log.append(entries, 0.0)
    if events is not None:
        events.add([event_of(first + at, match) for at, match in enumerate(MATCHES[start:stop])])


async def take(stream: AsyncIterator[bytes], n: int) -> list[dict[str, Any]]:
    """The data of the next events."""
    found: list[dict[str, Any]] = []
    while len(found) < n:
        part = await asyncio.wait_for(anext(stream), 60)
        lines = part.decode().splitlines()
        found += [msgspec.json.decode(line[6:]) for line in lines if line.startswith("data: ")]
    return found


def numbers(found: list[dict[str, Any]]) -> list[int]:
    return [one["sequence"] for one in found]


def test_stream__has_earlier_and_later_events_once() -> None:
    async def listen() -> None:
        log, events = MemoryLog(), Events(Listeners(), event_of_record)
        append(log, None, 0, 4)  # before this process
        before = await events.stream(log, 2)
        assert numbers(await take(before, 2)) == [3, 4]
        append(log, events, 4, 6)
        all_, some, new = [await events.stream(log, since) for since in (0, 5, None)]
        assert numbers(await take(all_, 6)) == [1, 2, 3, 4, 5, 6]
        found = await take(some, 1)
        assert found == [{"sequence": 6, "id": MATCHES[5].id, "players": [*MATCHES[5].sides[0].players,
                                                                          *MATCHES[5].sides[1].players]}]  # fmt: skip
        append(log, events, 6, 8)
        for stream in (all_, some, new):
            assert numbers(await take(stream, 2)) == [7, 8]
        events.add([Event(8, REBASED, {"players": 3})])
        assert await take(all_, 1) == [{"sequence": 8, "players": 3}]
        events.close()
        assert [part async for part in new] == []

    asyncio.run(listen())


def test_stream__of_a_slow_listener_reads_the_log_again() -> None:
    async def listen() -> None:
        log, events = MemoryLog(), Events(Listeners(), event_of_record)
        append(log, events, 0, 2)
        stream = await events.stream(log, 0)
        assert numbers(await take(stream, 2)) == [1, 2]
        body = entry_of(MATCHES[0], "").body
        for start in range(3, 2 * KEPT_EVENTS + 10, 1_000):
            found = range(start, min(start + 1_000, 2 * KEPT_EVENTS + 10))
            log.append([Entry("match", str(at), body) for at in found], 0.0)
            events.add([event_of(at, MATCHES[0]) for at in found])
        assert numbers(await take(stream, 2 * KEPT_EVENTS))[: 2 * KEPT_EVENTS] == list(range(3, 2 * KEPT_EVENTS + 3))

    asyncio.run(listen())


def test_stream__after_an_unknown_number_is_an_error() -> None:
    async def listen() -> None:
        log, events = MemoryLog(), Events(Listeners(), event_of_record)
        with pytest.raises(Problem, match="since must be at most 0"):
            await events.stream(log, 1)

    asyncio.run(listen())


def test_stream__of_released_events_is_gone() -> None:
    class Released(MemoryLog):
        def read(self, start: int = 1) -> Iterator[Record]:
            raise MissingError("records before 3 are released")

    async def listen() -> None:
        log, events = Released(), Events(Listeners(), event_of_record)
        append(log, None, 0, 4)
        with pytest.raises(Problem, match="has released events after 1") as caught:
            await events.stream(log, 1)
        assert caught.value.status == 410

    asyncio.run(listen())
