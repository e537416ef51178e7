"""Compile the kernels of a run before it rates, in parallel processes: once for each release and machine.

The compiled kernels go into the user's cache folder (:mod:`ranklake.rating_kernels.core.cache_folder`), from which this
process loads them. The child processes run ``ranklake.rating_kernels.warm``, and no code of the calling program. They
end with this process, however it ends.
"""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import SYSTEMS
from ranklake.rating_kernels.core import cache_folder
from ranklake.rating_kernels.warm import (
    CHANCES,
    PARTS,
    PROBLEMS,
    SCORES,
    SMOOTHING,
    STATIC,
    is_warm,
    report_compiled,
    warm_part,
)

from ..common.cpus import available_cpus
from ..common.progress import time_left
from . import child_processes as children

log = logging.getLogger("ranklake.kernels")


_KERNELS = {"elo-mmr.small": 45, "elo-mms.small": 40, "elo-mmx.small": 40, "elo-r.small": 30}  # about, by part
_KERNELS |= {SCORES: 25, SMOOTHING: 25, CHANCES: 4, PROBLEMS: 10, STATIC: 38}
_OTHERS = 15  # kernels of another part, about
_SECONDS = 0.4  # about, of a kernel on two cores


class CompileCallback(Protocol):
    """Called when a compilation begins (0 kernels), and after each kernel; ``total`` is about the number of all."""

    def __call__(self, systems: Sequence[str], kernels: int, total: int) -> None: ...


def announce(systems: Sequence[str], kernels: int, total: int) -> None:
    """One line on the standard error when a compilation begins, with about the time that it takes."""
    if kernels == 0:
        seconds = f", about {time_left(10.0 * math.ceil(_SECONDS * total / 10.0))}" if total > 1 else ""
        print(f"compiling {', '.join(systems)}{seconds} (once per machine)", file=sys.stderr, flush=True)


@contextmanager
def announce_compilation(system: str) -> Iterator[None]:
    """A block that calls a few kernels of a system. Missing ones are compiled here and announced."""
    from ranklake.rating_kernels.core.dispatchers import notify  # imports numba

    announced = False

    def on_start(function: Any) -> None:
        nonlocal announced
        if not announced:
            announced = True
            announce([system], 0, 1)

    with notify(on_start):
        yield


def parts_for(system: str, sizes: npt.ArrayLike) -> list[str]:
    """Parts of a system's kernels for rounds of these sizes, as ``elo-mmr.small``."""
    n, small = np.asarray(sizes), SYSTEMS[system].small
    needed = {"small": bool(np.any(n <= small)), "large": bool(np.any(n > small))}
    return [f"{system}.{part}" for part in PARTS if needed[part]]


def compile_kernels(system: str, sizes: npt.ArrayLike | None, on_compile: CompileCallback = announce) -> float:
    """Compile the missing kernels for rounds of these sizes; returns the seconds, mostly 0.

    ``sizes``: None for all kernels of the system, which each worker of a cluster loads.
    """
    parts = [f"{system}.{part}" for part in PARTS] if sizes is None else parts_for(system, sizes)
    return compile_parts([*parts, *([STATIC] if SYSTEMS[system].all_games is not None else [])], on_compile)


def compile_parts(parts: Sequence[str], on_compile: CompileCallback = announce, workers: int | None = None) -> float:
    """Compile the missing parts of kernels, named as by :func:`parts_for`, into the cache; returns the seconds.

    This process compiles a single part, and those that children failed to. Without a cache folder nothing is done.
    """
    missing = [part for part in parts if not is_warm(part)]
    if not missing or cache_folder.folders()[1] is None:
        children.discard()
        return 0.0
    began = time.perf_counter()
    systems = list(dict.fromkeys(part.partition(".")[0] for part in missing))
    expected, done = sum(_KERNELS.get(part, _OTHERS) for part in missing), count(1)

    def report(kernels: int) -> None:
        on_compile(systems, kernels, max(expected, kernels + 1))

    report(0)
    workers = workers or available_cpus()
    helpful = []
    if workers > len(missing):  # where another process can compile the last steps while one compiles small rounds
        others = [f"{system}.large" for system in systems if f"{system}.small" in missing]
        others = [part for part in others if SYSTEMS[part.partition(".")[0]].empty_summary is not None]
        helpful = [part for part in others if part not in missing and not is_warm(part)]
    if workers == 1 or len(missing) + len(helpful) == 1:  # the start of a process takes a second
        children.discard()
        rest = missing
    else:
        rest = _Children(workers).compile(missing, helpful, report)
    with report_compiled(lambda name: report(next(done))):
        for part in rest:
            warm_part(part)
    return time.perf_counter() - began


class _Children:
    """Child processes that compile parts, each one part at a time."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._lines: SimpleQueue[tuple[int, str]] = SimpleQueue()  # an empty line is the end of a child
        self._running: list[children.Child] = []

    def compile(self, parts: Sequence[str], helpful: Sequence[str], on_kernel: Callable[[int], None]) -> list[str]:
        """Compile ``parts``, and ``helpful`` ones until these are done; returns the parts that failed."""
        waiting, at_work, failed, kernels = deque([*parts, *helpful]), dict[int, str](), list[str](), 0
        open_parts = set(parts)
        try:
            for number in range(min(self._workers, len(waiting)) if sys.executable else 0):
                self._start(number)
                at_work[number] = waiting.popleft()
                self._send(number, at_work[number])
            while open_parts and at_work:
                try:
                    number, line = self._lines.get(timeout=0.2)  # without one, Ctrl-C does not interrupt on Windows
                except Empty:
                    continue
                if line.startswith("kernel "):
                    kernels += 1
                    on_kernel(kernels)
                    continue
                part = at_work.pop(number, None)
                if part is None:  # an idle child has ended
                    continue
                open_parts.discard(part)
                if not line:
                    failed.append(part)
                elif waiting:
                    at_work[number] = waiting.popleft()
                    self._send(number, at_work[number])
        finally:
            children.end(self._running)
            children.discard()
        return [part for part in parts if part in failed or part in open_parts]

    def _start(self, number: int) -> None:
        child = children.take()
        self._running.append(child)
        threading.Thread(target=self._read_lines, args=(number, child), daemon=True).start()
        self._send(number, cache_folder.release())

    def _read_lines(self, number: int, child: children.Child) -> None:
        assert child.stdout is not None
        with child.stdout as lines:
            for line in lines:
                self._lines.put((number, line.strip()))
        self._lines.put((number, ""))

    def _send(self, number: int, line: str) -> None:
        stream = self._running[number].stdin
        assert stream is not None
        try:
            stream.write(f"{line}\n")
            stream.flush()
        except OSError:
            log.debug("child %d has ended", number)  # its reader reports it, too
