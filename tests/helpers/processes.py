"""An engine of real processes over loopback sockets: like Dask's workers, without Dask.

Partitions run in processes of their own, which can be killed and stopped. Only the transport differs.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from helpers.timeouts import TIMEOUT

from ranklake.flows.engines.actors import WorkerActor
from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.protocols import EngineError, RemoteCall, WorkersLostError
from ranklake.flows.engines.serialization import deserialize, embed, serialize

ROOT = Path(__file__).parents[2]


class Worker:
    """One process, and the socket to it."""

    def __init__(self, listener: socket.socket) -> None:
        port = listener.getsockname()[1]
        path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "helpers.processes", str(port)], env=os.environ | {"PYTHONPATH": path}
        )
        listener.settimeout(TIMEOUT)
        self.socket, _ = listener.accept()
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent = self.received = self._calls = 0

    def send(self, call: tuple[str, tuple[Any, ...]], deadline: float) -> None:
        self._calls += 1
        self.socket.settimeout(max(deadline - time.monotonic(), 0.01))
        self.sent += send(self.socket, (self._calls, *call))

    def receive(self, deadline: float) -> Any:
        """The reply to the last call; late replies to earlier calls are dropped."""
        while True:
            self.socket.settimeout(max(deadline - time.monotonic(), 0.01))
            (number, answer), size = receive(self.socket)
            self.received += size
            if number == self._calls:
                return answer

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.socket.close()


class ProcessActorGroup:
    """One actor on each live worker."""

    def __init__(self, engine: ProcessEngine, workers: Sequence[Worker]) -> None:
        self._engine, self._workers, self._sequence = engine, list(workers), 0

    @property
    def size(self) -> int:
        return len(self._workers)

    @property
    def left_out(self) -> dict[str, str]:
        return {}

    @property
    def addresses(self) -> list[str]:
        return [f"process {worker.process.pid}" for worker in self._workers]

    def call_all(
        self, calls: Sequence[Sequence[RemoteCall]], rows: int = 0, to_all: Sequence[RemoteCall] = ()
    ) -> list[list[Any]]:
        self._sequence += 1
        replies = []
        self._engine.before_ask([name for name, _ in [*to_all, *calls[0]]])
        alike = embed(serialize(list(to_all))) if to_all else []
        calls = [("do", tuple(serialize((self._sequence, alike, list(own))))) for own in calls]
        for good, reply in map(deserialize, self.call(calls, self._engine.timeout)):
            if not good:
                raise reply
            replies.append(reply)
        return replies

    def call(self, calls: Sequence[tuple[str, tuple[Any, ...]]], seconds: float) -> list[Any]:
        deadline, at = time.monotonic() + seconds, self._workers[0]
        replies = []
        try:
            for one, call in zip(self._workers, calls, strict=True):
                at = one
                one.send(call, deadline)
            for one in self._workers:
                at = one
                replies.append(one.receive(deadline))
        except OSError as error:  # TimeoutError, ConnectionError, and the end of a stream
            self._engine.lose(at)
            raise WorkersLostError(f"process {at.process.pid} is lost ({error!r})") from error
        return replies

    def close(self) -> None:
        self._workers = []


class ProcessEngine:
    """``workers`` processes; those that die are not replaced."""

    on_this_machine = False  # each process compiles its own kernels

    def __init__(self, workers: int, limits: ClusterLimits | None = None) -> None:
        self.timeout, self.limits = TIMEOUT, limits or ClusterLimits()
        self.before_ask: Callable[[list[str]], None] = lambda names: None
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.all = [Worker(listener) for _ in range(workers)]
        self.alive = list(self.all)

    @property
    def workers(self) -> int:
        return len(self.alive)

    def describe(self) -> str:
        return f"{self.workers} processes"

    def start_actors(
        self, make: Callable[..., Any], init_args: Callable[[int, int], tuple[Any, ...]], max_workers: int | None = None
    ) -> ProcessActorGroup:
        if not self.alive:
            raise EngineError("no process is left")
        group = ProcessActorGroup(self, self.alive[:max_workers])
        group.call([("set_state", (make, init_args(i, group.size))) for i in range(group.size)], TIMEOUT)
        return group

    def lose(self, worker: Worker) -> None:
        if worker in self.alive:
            self.alive.remove(worker)
            worker.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.all:
            worker.process.send_signal(signal.SIGCONT)
            worker.kill()


def send(connection: socket.socket, message: Any) -> int:
    """Send a message, its arrays out of band; returns bytes."""
    frames: list[pickle.PickleBuffer] = []
    data = pickle.dumps(message, protocol=5, buffer_callback=frames.append)
    parts = [memoryview(data), *(frame.raw() for frame in frames)]
    connection.sendall(struct.pack(f"<q{len(parts)}q", len(parts), *(part.nbytes for part in parts)))
    for part in parts:
        connection.sendall(part)
    return sum(part.nbytes for part in parts)


def receive(connection: socket.socket) -> tuple[Any, int]:
    (count,) = struct.unpack("<q", _exactly(connection, 8))
    sizes = struct.unpack(f"<{count}q", _exactly(connection, 8 * count))
    data, *frames = [_exactly(connection, size) for size in sizes]
    return pickle.loads(data, buffers=frames), sum(sizes)


def _exactly(connection: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while view.nbytes:
        got = connection.recv_into(view)
        if not got:
            raise ConnectionError("the other end is gone")
        view = view[got:]
    return data


def serve(port: int) -> None:
    """Serve the calls of one worker until the connection ends."""
    actor = WorkerActor()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            try:
                (number, method, given), _ = receive(connection)
            except ConnectionError:
                return
            send(connection, (number, getattr(actor, method)(*given)))


if __name__ == "__main__":
    serve(int(sys.argv[1]))
