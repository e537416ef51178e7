"""The parts of the service put together: they are started, told to end, and ended."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING

from ...http.server.bodies import Bodies
from ...http.server.counts import RequestCounts
from ...http.server.streams import Listeners
from .application import Application
from .events import REBASED, Event, Events, event_of_record
from .handlers import Handlers
from .metrics import Metrics
from .writer import Opened, Writer

if TYPE_CHECKING:
    from ..rebase import Rebased
    from .running import ServiceOptions

_LOG = logging.getLogger(__name__)
_CLOSE_SECONDS = 4.0  # for closing the runs, after the seconds that the server has for requests under way; 10 s in all
_LOOK_SECONDS = 0.5  # between two looks whether the log is available


class Service:
    """The application with what it holds; parameters as of :func:`.running.run_service`.

    ``on_failure``: called when the thread of the runs has failed; ``writer.failure`` is why. ``clock``: UTC seconds.
    """

    def __init__(
        self,
        names: Sequence[str],
        opening: Callable[[], AbstractContextManager[Opened]],
        options: ServiceOptions,
        on_ready: Callable[[], None] = lambda: None,
        on_failure: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._access, counts = options.access, RequestCounts()
        self._metrics = Metrics(counts, self._state)
        self._events = Events(Listeners(), event_of_record)
        self.writer = Writer(
            opening, options.batch, options.queue, on_ready, on_failure, lambda group: handlers.accepted(group), clock
        )
        handlers = Handlers(tuple(names), self.writer, self._events, self._metrics, Bodies(), clock)
        self.app = Application(
            handlers.routes(), self._access, counts, self._metrics, self._start, self._tell_end, self._end
        )
        self._looking: asyncio.Task[None] | None = None
        self._committed: float | None = None  # when records were last written to the data set

    def _start(self) -> None:
        self.writer.start()
        self._looking = asyncio.create_task(self._look())
        if (hangup := getattr(signal, "SIGHUP", None)) is not None:
            with suppress(NotImplementedError, RuntimeError, ValueError):  # not in the main thread
                asyncio.get_running_loop().add_signal_handler(hangup, self._reload)

    def _reload(self) -> None:
        try:
            _LOG.warning("read %d tokens again", self._access.reload())
        except (OSError, ValueError) as error:
            _LOG.error("the tokens stay as they were: %s", error)

    async def _look(self) -> None:
        told: Rebased | None = None
        saved: int | None = None
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self.writer.check_log()
            if self.writer.found is None:
                continue
            runs = self.writer.found.runs
            if saved is not None and saved < runs.last - runs.unsaved:
                self._committed = time.monotonic()
            saved, found = runs.last - runs.unsaved, runs.rebased
            if found is not None and found != told:
                told = found
                self._events.add([Event(found.sequence, REBASED, {"players": found.n_changed})])

    def _tell_end(self) -> None:
        """Accept nothing more; called in a signal handler."""
        self.writer.end()
        self._events.close()

    async def _end(self) -> None:
        self._tell_end()
        if self._looking is not None:
            self._looking.cancel()
        await self.writer.close(_CLOSE_SECONDS)

    def _state(self) -> dict[str, float]:
        found = {
            "ready": float(self.writer.ready),
            "queue": float(self.writer.waiting),
            "listeners": float(self._events.listeners.n),
        }
        if self.writer.found is not None:
            runs = self.writer.found.runs
            found |= {"sequence": runs.last, "unsaved_records": runs.unsaved, "players": runs.n_players}
            found |= {"stale": float(runs.stale), "write_failed": float(bool(runs.failure))}
            found["replay_mismatch"] = float(bool(runs.mismatch))
        if self._committed is not None:
            found["commit_age_seconds"] = time.monotonic() - self._committed
        return found
