"""The processes of the row `live`: ranklake rated, and the services that a user would write; their time and memory."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from timing import SkippedRow

RUN = "/api/v1/runs/"
LOAD, CLOCK, PEER = (Path(__file__).with_name(f"live_{name}.py") for name in ("load", "clock", "peer"))
START_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Service:
    """A process that answers.

    ``start``: seconds from the command until it took matches.
    """

    process: subprocess.Popen[bytes]
    port: int
    path: str
    start: float

    @property
    def cpu_seconds(self) -> float:
        """Processor time so far, of all threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def resident(self) -> int:
        """Memory without the pages of mapped files, bytes."""
        found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found is not None
        return int(found[1]) * 1024

    def metric(self, name: str) -> float:
        """A metric of ranklake rated."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as answer:
            found = re.search(rf"^{name} (\S+)$", answer.read().decode(), re.MULTILINE)
        if found is None:
            raise RuntimeError(f"the service has no metric {name}")
        return float(found[1])

    def begin(self, **plan: Any) -> subprocess.Popen[str]:
        """A load of the generator that has begun, by the parts of its plan."""
        given = {"address": ["127.0.0.1", self.port], "path": self.path, **plan}
        return subprocess.Popen([sys.executable, LOAD, json.dumps(given)], stdout=subprocess.PIPE, text=True)

    def load(self, **plan: Any) -> Load:
        """What came back of a load."""
        return loads(self, self.begin(**plan))[0]


class Load(NamedTuple):
    """A load: seconds of latency at some quantiles, answers a second, and what both processes took.

    ``generator``, ``service``: processor time divided by the time of the load; 1 is one core.
    ``failed``: answers that are errors, or are missing.
    """

    n: int
    failed: int
    rate: float
    latency: dict[str, float]
    generator: float
    service: float
    late: float
    example: str


def loads(service: Service, *running: subprocess.Popen[str]) -> list[Load]:
    """What came back of loads that run beside each other; they have just begun."""
    cpu, began = service.cpu_seconds, time.perf_counter()
    outputs = [process.communicate()[0] for process in running]
    share = (service.cpu_seconds - cpu) / (time.perf_counter() - began)
    found = []
    for output in outputs:
        done = json.loads(output)
        late = done["late"].get("p99", 0.0)
        found.append(
            Load(
                done["requests"],
                done["failed"] + done["missing"],
                done["requests"] / done["seconds"],
                done["latency"],
                done["cpu_seconds"] / done["seconds"],
                share,
                late,
                done["example"],
            )
        )
    return found


@contextmanager
def rated(lake: Path, run: str, log: Path) -> Iterator[Service]:
    """`ranklake rated` of a run, with a clock that jumps at SIGUSR1."""
    port = _free_port()
    words = ["rated", "--run", run, "--lake", lake, "--log", f"file:{log}", "--port", str(port)]
    with _running([sys.executable, CLOCK, *words], port, f"{RUN}{run}", "/readyz") as service:
        yield service


@contextmanager
def peer(package: str, database: Path) -> Iterator[Service]:
    """The service of a package with SQLite."""
    port = _free_port()
    command = [sys.executable, PEER, package, database, str(port)]
    with _running(command, port, f"{RUN}{package}", f"{RUN}{package}/players/p0") as service:
        yield service


@contextmanager
def _running(command: Sequence[object], port: int, path: str, ready: str) -> Iterator[Service]:
    if not Path("/proc/self/stat").exists():
        raise SkippedRow("the processor time of a process is read from /proc, which is not there")
    began = time.perf_counter()
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL) as process:
        try:
            while not _answers(port, ready):
                if process.poll() is not None or time.perf_counter() - began > START_SECONDS:
                    raise RuntimeError(f"the service did not start: {' '.join(map(str, command))}")
                time.sleep(0.02)
            yield Service(process, port, path, time.perf_counter() - began)
        finally:
            process.send_signal(signal.SIGTERM)


def _answers(port: int, path: str) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        return bool(answer.status == 200)
    return False


def _free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
