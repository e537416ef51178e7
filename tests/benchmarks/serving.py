"""The row about the server: all of Codeforces behind `ranklake serve`, asked by wrk over loopback."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from changes import RUN, published_lake
from timing import Options, Result, SkippedRow, invoke

from ranklake.flows.answers.run import open_published
from ranklake.storage import Lake

SECONDS = 10  # of each load
LONGEST = 60  # up to this many seconds a load without an answer is repeated
CONNECTIONS = 200
N_HOT = 1_000  # players that most visitors ask for
N_REQUESTS = 1_000_000  # for the memory
N_FILL = 50_000  # before, until the cache of answers is full
RATE = 2_000  # requests a second
UNITS = {"us": 1e-6, "ms": 1e-3}
# wrk asks for the lines of a file in turn; each of its threads begins elsewhere.
SCRIPT = """
local paths = {}
for line in io.lines("%s") do paths[#paths + 1] = line end
local at, n_threads = 0, 0
function setup(thread) thread:set("first", n_threads); n_threads = n_threads + 1 end
function init() at = first * math.floor(#paths / 2) end
function request() at = at %% #paths + 1; return wrk.format("GET", paths[at]) end
"""
DELAY = """
function delay() return math.random() * %f end
"""  # milliseconds between an answer and the next request of a connection


def serving(options: Options) -> Iterator[Result]:
    """Requests a second, latency, processor time, start and memory of the server."""
    wrk = shutil.which("wrk")
    if wrk is None:
        raise SkippedRow("wrk is not installed: apt-get install wrk")
    with published_lake(options) as lake:
        n_requests = N_REQUESTS if options.limit is None else options.limit
        seconds, longer = (1, 1) if options.quick else (SECONDS, 4 * SECONDS)
        yield from measured(wrk, lake, RUN, n_requests, seconds, longer)


def measured(
    wrk: str, lake: str, run: str, n_requests: int, seconds: int = SECONDS, longer: int = 4 * SECONDS
) -> Iterator[Result]:
    """The results for a published run of a lake.

    ``n_requests`` are for the memory, in loads of ``longer`` seconds; each other load takes ``seconds``.
    """
    handles = open_published(Lake.open(lake), run).leaderboard_table.column("handle").to_pylist()
    api, order = f"/api/v1/runs/{run}", random.Random(2021)
    players = [f"{api}/players/{quote(handle, '')}" for handle in order.sample(handles, len(handles))]
    n_hot = min(N_HOT, len(players) // 2)
    loads = {
        "page of the leaderboard": ([f"/{run}"], True),
        "100 rows of the leaderboard, JSON": ([f"{api}/leaderboard"], False),
        f"JSON of {n_hot:,} players in turn": (players[:n_hot], True),
        "JSON of all players in turn, each for the first time": (players[n_hot:], False),
    }
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, _server(lake, run) as (process, address):
        start, resident = time.perf_counter() - began, _resident(process)
        yield Result(
            "serve", f"ranklake serve, until it accepts connections; {_processor_seconds(process):.2f} s of processor "
            f"time; {resident / 1e6:.0f} MB resident", start, case="start",
            targets={f"at most 3 s: {start:.2f} s": start <= 3.0,
                     f"at most 400 MB: {resident / 1e6:.0f} MB": resident <= 400e6},
            figures={"resident_bytes": resident},
        )  # fmt: skip
        ask = _Wrk(wrk, process, address, Path(folder, "paths"))
        for what, (paths, judged) in loads.items():
            yield _load(ask, what, paths, judged, seconds)
            if judged:
                yield _at_rate(ask, what, paths, seconds)
        n_done = 0
        while n_done < N_FILL <= n_requests:
            n_done += ask(players, seconds).n
        before, n_done, cpu = _resident(process), 0, 0.0
        while n_done < n_requests:
            done = ask(players, longer)
            n_done, cpu = n_done + done.n, cpu + done.n * done.cpu_seconds
        after = _resident(process)
        yield Result(
            "serve", f"{n_done:,} more requests for all players; {after / 1e6:.0f} MB resident, "
            f"{before / 1e6:.0f} MB before", cpu / n_done, case="memory",
            targets={f"growth at most 20 MB: {(after - before) / 1e6:.1f} MB": after - before <= 20e6},
            figures={"requests": n_done, "growth_bytes": after - before},
        )  # fmt: skip


class _Load(NamedTuple):
    """Number of requests, requests a second, latencies in seconds, and processor time of the server for a request."""

    n: int
    rate: float
    p50: float
    p99: float
    cpu_seconds: float


def _load(ask: _Wrk, what: str, paths: Sequence[str], judged: bool, seconds: int) -> Result:
    load = ask(paths, seconds)
    targets = {f"at least {RATE:,} requests/s: {load.rate:,.0f}": load.rate >= RATE} if judged else {}
    return Result("serve", f"{what}: {load.rate:,.0f} requests/s{_text(load)}", load.cpu_seconds, targets=targets,
                  figures=_figures(load), case=what)  # fmt: skip


def _at_rate(ask: _Wrk, what: str, paths: Sequence[str], seconds: int) -> Result:
    load = ask(paths, seconds, RATE)
    targets = {f"p99 at most 20 ms: {1e3 * load.p99:.1f} ms": load.p99 <= 0.02}
    return Result("serve", f"{what}, not more than {RATE:,} requests/s: {load.rate:,.0f}{_text(load)}",
                  load.cpu_seconds, targets=targets, figures=_figures(load), case=f"{what}, with pauses")  # fmt: skip


def _figures(load: _Load) -> dict[str, float]:
    return {"requests_per_second": load.rate, "p50_seconds": load.p50, "p99_seconds": load.p99}


def _text(load: _Load) -> str:
    latency = f"median {1e3 * load.p50:.1f} ms, p99 {1e3 * load.p99:.1f} ms"
    return f", {CONNECTIONS} connections; {latency}; {1e6 * load.cpu_seconds:.0f} µs of processor time each"


@dataclass(frozen=True, slots=True)
class _Wrk:
    """wrk, the server's process and address, and a file for the paths of requests."""

    program: str
    process: subprocess.Popen[str]
    address: str
    file: Path

    def __call__(self, paths: Sequence[str], seconds: int, rate: float | None = None) -> _Load:
        """Ask for the paths in turn, as often as possible or ``rate`` times a second; ``RuntimeError``: one failed."""
        self.file.write_text("\n".join(paths) + "\n")
        script = self.file.with_suffix(".lua")
        script.write_text(SCRIPT % self.file + (DELAY % (2e3 * CONNECTIONS / rate) if rate else ""))
        begin = _processor_seconds(self.process)
        output = subprocess.run(
            [self.program, "-t2", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "30s", "--latency", "-s", script,
             self.address], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
        ).stdout  # fmt: skip
        cpu = _processor_seconds(self.process) - begin
        if " 0 requests in" in output and seconds < LONGEST:  # a loaded machine
            return self(paths, 2 * seconds, rate)
        if re.search(r"Socket errors|Non-2xx| 0 requests in", output):
            raise RuntimeError(f"requests failed:\n{output}")
        patterns = (r"(\d+)( )requests in", r"Requests/sec:\s+([\d.]+)()", r"50%\s+([\d.]+)(us|ms|s)",
                    r"99%\s+([\d.]+)(us|ms|s)")  # fmt: skip
        found = [match for match in (re.search(pattern, output) for pattern in patterns) if match]
        n, per_second, p50, p99 = (float(match[1]) * UNITS.get(match[2], 1.0) for match in found)
        return _Load(int(n), per_second, p50, p99, cpu / n)


@contextmanager
def _server(lake: str, run: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server on a free port, and its address."""
    command = [invoke(), "serve", "--lake", lake, "--run", run, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"(http://\S+?)/$", line)
            if found is None:
                raise RuntimeError(f"the server did not start: {line}")
            yield process, found[1]
        finally:
            process.send_signal(signal.SIGTERM)


def _processor_seconds(process: subprocess.Popen[str]) -> float:
    """Processor time of a process so far."""
    path = Path(f"/proc/{process.pid}/stat")
    if not path.exists():
        raise SkippedRow("the processor time of a process is read from /proc, which is not there")
    fields = path.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(process: subprocess.Popen[str]) -> int:
    """Memory of a process without the pages of mapped files, bytes."""
    path = Path(f"/proc/{process.pid}/status")
    if not path.exists():
        raise SkippedRow("the memory of a process is read from /proc, which is not there")
    found = re.search(r"RssAnon:\s+(\d+) kB", path.read_text())
    if found is None:
        raise SkippedRow("/proc does not have the memory of a process without mapped files")
    return int(found[1]) * 1024
