"""Processor time of a rating into a lake by layer: the rating itself, and what reading and commits add."""

from __future__ import annotations

import functools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

from against_peer import CODEFORCES
from history import lake_of, load, rate_warm
from timing import Options, Result

import ranklake.flows.execution.local as local
import ranklake.flows.rating.commits.segment_writer as segment_writer
import ranklake.flows.rating.rating_pass as rating_pass
import ranklake.rating_kernels.core.beliefs as beliefs
import ranklake.storage.lake.access.files as files
import ranklake.storage.lake.access.lake as lake
import ranklake.storage.leases.lease as lease
import ranklake.storage.runs.run as run
import ranklake.storage.runs.snapshots as snapshots
from ranklake.flows.cli.terminal.process import keep_freed_memory
from ranklake.flows.engines.threads import Threads
from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.rate import rate
from ranklake.rating_kernels import SYSTEMS

# each function counts for its layer, without the functions of other layers that it calls
LAYERS: dict[str, list[tuple[Any, str]]] = {
    "rating": [(local, "rate_rounds")],
    "reading standings": [(lake.Lake, "read_table"), (rating_pass.ContestFacts, "rounds")],
    "tables of rounds": [(segment_writer, "to_table"), (segment_writer, "concatenate_rounds")],
    "encoding rounds": [(lake.parquet, "encode")],
    "copying beliefs": [(beliefs.Beliefs, "take")],
    "encoding beliefs": [(snapshots, "to_table"), (snapshots, "encode")],
    "digests": [(lake, "digest_of"), (snapshots, "digest_of")],
    "writing files": [(files.LakeFiles, "write_bytes")],
    "leases": [(lease.Lease, "check")],
    "entries and manifests": [(segment_writer.SegmentWriter, "_write"), (run.Run, "append")],
}


class Layers:
    """Seconds and calls by layer; ``clock`` is the processor time of the calling thread."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self.seconds: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self._clock, self._lock, self._thread = clock, threading.Lock(), threading.local()

    def timed(self, layer: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, whose own time counts for a layer; that of timed functions inside counts for theirs."""

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            inside: list[float] = self._thread.__dict__.setdefault("inside", [])  # of each open call
            inside.append(0.0)
            began = self._clock()
            try:
                return function(*given, **named)
            finally:
                seconds = self._clock() - began
                with self._lock:
                    self.seconds[layer] += seconds - inside.pop()
                    self.calls[layer] += 1
                if inside:
                    inside[-1] += seconds

        return call


class _TimedThreads(Threads):
    """Threads whose work counts as rating."""

    layers = Layers()

    def map(self, work: Any, n: int, *filled: Any) -> None:
        super().map(self.layers.timed("rating", work), n, *filled)


def profile_lake(options: Options) -> Iterator[Result]:
    """Processor time of `rate` of all of Codeforces into a new run, by layer."""
    path = options.file(CODEFORCES)
    keep_freed_memory()  # as the command
    work = rate_warm(load(path, options.limit))
    began = time.process_time()
    work(None)
    alone = time.process_time() - began
    with lake_of(path) as target, _TimedThreads() as engine, ExitStack() as stack:
        layers = engine.layers = Layers()
        for layer, functions in LAYERS.items():
            for owner, name in functions:
                stack.enter_context(patch.object(owner, name, layers.timed(layer, getattr(owner, name))))
        system = SYSTEMS["elo-mmr"]
        began = time.process_time()
        rate(target, RunConfig("d", "r", system.name, system.params()), engine)
        whole = time.process_time() - began
    layers.seconds["other"] = whole - sum(layers.seconds.values())
    for layer in (*LAYERS, "other"):
        seconds, calls = layers.seconds[layer], layers.calls[layer]
        what = f"{layer}: {seconds / whole:.1%}" + (f", {calls:,} calls" if calls else "")
        yield Result("profile-lake", what, seconds, figures={"share": seconds / whole}, case=layer)
    what = f"whole, of all threads: {whole / alone:.2f} times the processor time of the rating alone"
    yield Result("profile-lake", what, whole, figures={"times_rating": whole / alone}, case="whole")
