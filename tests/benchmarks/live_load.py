"""A load generator for services that rate matches: requests at planned times, over connections that stay open.

    python live_load.py '{"address": ["127.0.0.1", 8090], "path": "/api/v1/runs/r", ...}'

It is a process of its own and prints one line of JSON: answers by status, quantiles of the latency, and its own
processor time. A latency counts from the time at which the request was planned, not sent: a service that is slow, or
connections that are all busy, do not make requests disappear. The requests are bytes that are put together, and the
answers are searched for their status and their length alone, so that the generator takes little of the processor.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

import uvloop

QUANTILES = (0.5, 0.9, 0.99, 0.999)
DRAIN_SECONDS = 10.0  # after the last planned request, for answers that are due


@dataclass(slots=True)
class Plan:
    """What is asked, and when.

    ``path``: of the run. ``kind``: "match", "batch" of ``batch`` matches, or "player".
    ``rate``: requests a second, for ``seconds``. ``players``: p0, p1, ... at random; ``seed`` draws them, and ``first``
    is the number of the first match.
    """

    address: tuple[str, int]
    path: str
    kind: str
    rate: float
    seconds: float
    players: int
    connections: int = 32
    batch: int = 1_000
    seed: int = 0
    first: int = 0

    def request(self, number: int, draw: random.Random) -> bytes:
        """The bytes of one request."""
        if self.kind == "player":
            return b"GET %s/players/p%d HTTP/1.1\r\nhost: localhost\r\n\r\n" % (
                self.path.encode(),
                int(draw.random() * self.players),
            )
        first = self.first + number
        if self.kind == "match":
            body = self._match(first, draw)
        else:
            body = b'{"matches":[%s]}' % b",".join(
                self._match(first * self.batch + at, draw) for at in range(self.batch)
            )
        head = b"POST %s/matches HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n" % self.path.encode()
        return b"%scontent-length: %d\r\n\r\n%s" % (head, len(body), body)

    def _match(self, number: int, draw: random.Random) -> bytes:
        one = int(draw.random() * self.players)
        other = (one + 1 + int(draw.random() * (self.players - 1))) % self.players
        score = b"1" if draw.random() < 0.5 else b"0"
        return b'{"id":"%d-%d","a":"p%d","b":"p%d","score":%s}' % (self.seed, number, one, other, score)


@dataclass(slots=True)
class Found:
    """What came back: by status, and seconds from the plan to the answer. ``late``: of the generator itself, from the
    plan to the moment at which it has the request.
    """

    statuses: Counter[int] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    example: str = ""


class _Connection(asyncio.Protocol):
    """One connection: at most one request at a time."""

    def __init__(self, load: _Load) -> None:
        self._load, self._got, self._planned = load, b"", 0.0
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._load.idle.append(self)

    def send(self, planned: float, request: bytes) -> None:
        self._planned = planned
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        got = self._got = self._got + data if self._got else data
        end = got.find(b"\r\n\r\n")
        if end < 0:
            return
        at = got.find(b"content-length: ")
        stop = got.index(b"\r", at)
        if len(got) < end + 4 + int(got[at + 16 : stop]):
            return
        self._got, status = b"", int(got[9:12])
        found = self._load.found
        found.latencies.append(time.perf_counter() - self._planned)
        found.statuses[status] += 1
        if status >= 300 or b'"error":' in got:
            found.statuses[-1] += 1
            found.example = found.example or got[end + 4 :].decode(errors="replace")[:500]
        self._load.answered(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._load.lost(self)


class _Load:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.found = plan, Found()
        self.idle: deque[_Connection] = deque()
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._draw, self._left = random.Random(plan.seed), round(plan.rate * plan.seconds)
        self._done = asyncio.Event()
        self._asked = self._n = 0

    async def run(self) -> None:
        loop, plan = asyncio.get_running_loop(), self.plan
        for _ in range(plan.connections):
            await loop.create_connection(lambda: _Connection(self), *plan.address)
        self._began = time.perf_counter() + 0.05
        self._n = self._left
        while self._asked < self._n:
            planned = self._began + self._asked / plan.rate
            request = plan.request(self._asked, self._draw)  # before its time
            if (pause := planned - time.perf_counter()) > 0.0:
                await asyncio.sleep(pause)
            self._asked += 1
            self.found.late.append(time.perf_counter() - planned)
            if self.idle:
                self.idle.popleft().send(planned, request)
            else:
                self._waiting.append((planned, request))
            if pause <= 0.0:
                await asyncio.sleep(0)
        try:
            await asyncio.wait_for(self._done.wait(), DRAIN_SECONDS)
        except TimeoutError:
            self.found.example = self.found.example or f"{self._left} answers missing"

    def answered(self, connection: _Connection) -> None:
        self._left -= 1
        if self._waiting:
            connection.send(*self._waiting.popleft())
        else:
            self.idle.append(connection)
        if not self._left:
            self._done.set()

    def lost(self, connection: _Connection) -> None:
        if self._left:
            self.found.statuses[-1] += 1
            self.found.example = self.found.example or "a connection was closed"


def quantiles(values: list[float]) -> dict[str, float]:
    """Some quantiles of values, and the largest: empty without values."""
    ordered = sorted(values)
    if not ordered:
        return {}
    found = {f"p{100 * q:g}": ordered[min(int(q * len(ordered)), len(ordered) - 1)] for q in QUANTILES}
    return found | {"max": ordered[-1]}


def main(text: str) -> dict[str, Any]:
    """Make the requests of a plan, and return what came back."""
    given = json.loads(text)
    plan = Plan(**given | {"address": tuple(given["address"])})
    load = _Load(plan)
    cpu, began = time.process_time(), time.perf_counter()
    uvloop.run(load.run())
    seconds = time.perf_counter() - began
    found, n = load.found, len(load.found.latencies)
    return {
        "requests": n,
        "missing": load._n - n,
        "failed": found.statuses.pop(-1, 0),
        "statuses": {str(status): count for status, count in found.statuses.items()},
        "example": found.example,
        "seconds": seconds,
        "latency": quantiles(found.latencies),
        "late": quantiles(found.late),
        "cpu_seconds": time.process_time() - cpu,
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
