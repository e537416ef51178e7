"""Sites with arbitrary responses: contests are ingested or an error is raised, in bounded time and memory."""

from __future__ import annotations

import random
import re
import time
import traceback
from pathlib import Path
from typing import Any

import httpx
from chaos.answer_server import AnswerServer, answer_server
from chaos.cases import Violation
from chaos.conversations import conversations
from chaos.replies import reply
from chaos.world import World
from helpers.life import what_counts

import ranklake.flows.http.client
from ranklake.flows.http.client import Client
from ranklake.flows.http.pace import Clock
from ranklake.flows.ingestion.sites import ingest_source
from ranklake.flows.maintenance.verify import Verifier
from ranklake.flows.sources.base import SourceError
from ranklake.storage import Dataset, Lake, LakeError

ATTEMPT_SECONDS, QUIET_SECONDS, ATTEMPTS = 0.5, 0.3, 2  # instead of ten minutes, one minute, and six
HONEST_SECONDS = 20.0  # for a valid response, on a machine under load
MARGIN_SECONDS = 5.0  # of a machine under load, for a whole ingestion
MAX_BYTES = 2 * 2**20
MORE_MEMORY = 64 * 2**20  # bytes; of an ingestion of a few kilobytes
LONGEST_MESSAGE = 2000


class _Clock(Clock):
    """A clock at a given date; sleeping only advances it."""

    def __init__(self, now: float) -> None:
        self._ahead = now - time.time()

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def now(self) -> float:
        return time.time() + self._ahead

    def sleep(self, seconds: float) -> None:
        self._ahead += seconds


def draw(seed: int) -> dict[str, Any]:
    """A site, and the replies to the requests with some numbers; ``known``: all contests were ingested before."""
    dice = random.Random(seed)
    site = dice.choice(list(conversations()))
    honest = [body for _, body in conversations()[site].answers]
    requests = dice.sample(range(len(honest)), dice.choice([1, 1, 2]))
    # The second attempt is a request, too.
    faults = [{"request": number + dice.choice([0, 0, 0, 1]), "reply": reply(dice, honest[number])}
              for number in requests]  # fmt: skip
    return {"site": site, "known": dice.random() < 0.5, "faults": faults}


def check(world: World, parameters: dict[str, Any]) -> None:
    server = world.once("answers", answer_server)
    _wait_for(HONEST_SECONDS, HONEST_SECONDS)
    site, path = parameters["site"], world.fresh_folder() / "lake"
    lake = Lake.open(path, create=True)
    server.honest = dict(conversations()[site].answers)
    if parameters["known"]:
        server.script({})
        _ingest(lake, server, site)
    before = what_counts(path)
    server.script({fault["request"]: fault["reply"] for fault in parameters["faults"]})
    _wait_for(ATTEMPT_SECONDS, QUIET_SECONDS)
    memory, began = _memory_peak(reset=True), time.monotonic()
    failed: Exception | None = None
    try:
        world.counts["records"] += _ingest(lake, server, site)
    except (SourceError, LakeError) as error:
        failed = error
    except Exception as error:
        raise Violation(f"a response raises {type(error).__name__}", traceback.format_exc()) from None
    seconds, more = time.monotonic() - began, _memory_peak() - memory
    world.counts["requests"] += server.requests
    if seconds > MARGIN_SECONDS + 2 * ATTEMPT_SECONDS * server.requests:
        raise Violation("a response takes too long", f"{seconds:.1f} s, {server.requests} requests; {failed}")
    if more > MORE_MEMORY:
        raise Violation("a response takes too much memory", f"{more / 2**20:.0f} MiB; {failed}")
    if failed is not None:
        _check_message(str(failed))
        if what_counts(path) != before:
            raise Violation("a refused response changes the data set", str(failed))
    _check_sound(lake)
    server.script({})
    _wait_for(HONEST_SECONDS, HONEST_SECONDS)
    try:
        _ingest(lake, server, site)
    except Exception:
        raise Violation("later valid responses are refused", traceback.format_exc()) from None
    existing = Dataset.open(lake, site).contests.column("contest_id").to_pylist()
    if lost := [name for name in conversations()[site].contests if name not in existing]:
        raise Violation("later valid responses are not ingested", f"{lost} of {existing}; before: {failed}")
    _check_sound(lake)


def _ingest(lake: Lake, server: AnswerServer, site: str) -> int:
    """Request all documents; returns the number of participations afterwards."""
    client = Client(site, server.url, interval_seconds=1.0, clock=_Clock(conversations()[site].now),
                    max_bytes=MAX_BYTES)  # fmt: skip
    ingest_source(lake, site, client=client, base_url=server.url, again=True)
    if site not in Dataset.names(lake):
        return 0
    return sum(Dataset.open(lake, site).contests.column("n_players").to_pylist())


def _check_message(message: str) -> None:
    if not message.isprintable() or len(message) > LONGEST_MESSAGE:
        raise Violation("the error of a response is too long or not printable", repr(message[:3000]))


def _check_sound(lake: Lake) -> None:
    if problems := list(Verifier(lake).everything()):
        raise Violation("verify finds damage after a response", "\n".join(problems))


def _wait_for(response_seconds: float, quiet_seconds: float) -> None:
    """Set the timeouts of the client for a whole response and for its next byte."""
    client: Any = ranklake.flows.http.client
    client.MAX_SECONDS, client.ATTEMPTS = response_seconds, ATTEMPTS
    client.TIMEOUT = httpx.Timeout(quiet_seconds)


def _memory_peak(reset: bool = False) -> int:
    """Peak memory of this process since the last reset, bytes; 0 if it is unknown, as on other systems than Linux."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        match = re.search(r"VmHWM:\s*([0-9]+) kB", Path("/proc/self/status").read_text())
    except OSError:
        return 0
    return int(match[1]) * 1024 if match else 0
