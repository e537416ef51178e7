"""The service of `ranklake rated` over a small lake, in this process, and logs that fail or wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from helpers.api import TestClient
from helpers.live_matches import MemoryLog, config_of

from ranklake.flows.live.engine import LiveOptions, LiveRuns
from ranklake.flows.live.log.records import Entry
from ranklake.flows.live.service.running import ServiceOptions
from ranklake.flows.live.service.service import Service
from ranklake.flows.live.service.tokens import Access
from ranklake.flows.live.service.writer import Opened
from ranklake.storage import Lake

NOW = 1_790_000_000.0
RUN = "/api/v1/runs/run"


class HeldLog(MemoryLog):
    """A log whose appends wait for :attr:`free`."""

    def __init__(self) -> None:
        super().__init__()
        self.free, self.begun = threading.Event(), threading.Semaphore(0)
        self.free.set()

    def append(self, entries: Sequence[Entry], received: float) -> int:
        self.begun.release()
        assert self.free.wait(60)
        return super().append(entries, received)


class Clock:
    """UTC seconds that a test sets."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@contextmanager
def live_service(
    folder: Path,
    log: Any = None,
    *,
    runs: Sequence[str] = ("run",),
    systems: Sequence[str] = ("elo", "glicko2"),
    clock: Clock | None = None,
    live: LiveOptions | None = None,
    access: Access | None = None,
    **options: Any,
) -> Iterator[TestClient]:
    """A client of the service, which is ready; ``client.app_state`` has the service and its log."""
    lake, log, clock = (
        Lake.open(str(folder / "lake"), create=True),
        MemoryLog() if log is None else log,
        clock or Clock(),
    )
    configs = [config_of(*names) for names in zip(runs, systems, strict=False)]
    ready = threading.Event()

    @contextmanager
    def opening() -> Iterator[Opened]:
        with LiveRuns.open(lake, configs, log, live or LiveOptions(), now=clock()) as opened:
            yield Opened(opened, log)

    service = Service(
        runs, opening, ServiceOptions(access=access or Access(None), **options), ready.set, ready.set, clock
    )
    with TestClient(service.app, base_url="http://localhost") as client:
        assert ready.wait(120)
        if service.writer.failure is not None:
            raise service.writer.failure
        client.app_state["service"] = service
        yield client


def duel(name: str, a: str = "ada", b: str = "bo", score: float = 1.0, **more: Any) -> dict[str, Any]:
    """A match of two players as a client sends it."""
    return {"id": name, "a": a, "b": b, "score": score, **more}
