"""The thread that changes the runs: it accepts matches in groups, so that many share one write to the log.

Requests hand over their matches and wait. The thread takes all that wait, up to a number, so while one group is written
the next one grows; it never waits for more. Each group comes back to the event loop in one call.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ...http.server.problems import Problem
from ..log.records import Log, LogUnavailableError
from ..matches.match import MatchError
from .events import Event

if TYPE_CHECKING:
    from ..engine import LiveRuns, Reply
    from ..matches.match import Match

_LOG = logging.getLogger(__name__)
_TICK_SECONDS = 0.5  # at most, between two looks for ended periods
_STALLED_SECONDS = 1.0  # a log that waits for longer takes no further matches
_START_SECONDS = 2.0  # after which a request may be tried again while the process starts


class Opened(NamedTuple):
    """Runs with their log."""

    runs: LiveRuns
    log: Log


Change: TypeAlias = Callable[["LiveRuns"], Event]
"""What changes the runs besides matches; raises MatchError or LogUnavailableError if it does not."""


class Group(NamedTuple):
    """A group that was accepted.

    ``append_seconds``: of writing it to the log. ``rate_seconds``: of all else.
    """

    replies: Sequence[Reply]
    append_seconds: float
    rate_seconds: float


OnGroup: TypeAlias = Callable[[Group | Event], None]


class _Job(NamedTuple):
    """What a request waits for: the replies to its matches, or the event of its change."""

    matches: Sequence[Match]
    by: str
    call: Change | None
    done: asyncio.Future[Any]


class Writer:
    """The thread and its queue; all methods are called in the event loop.

    ``opening``: opens the runs and their log; entered and left in the thread.
    ``batch``: matches of a group at most, but those of one request stay together. ``queue``: matches that wait at most.
    ``on_ready``, ``on_failure``: called in the event loop when the runs are open, and when the thread has failed.
    ``on_group``: called in the event loop with each group, and with the event of each change, in their order.

    ``waiting``: matches that are handed over and not answered. ``found``: None until the runs are open.
    ``failure``: why the thread has ended.
    """

    def __init__(
        self,
        opening: Callable[[], AbstractContextManager[Opened]],
        batch: int = 256,
        queue: int = 4_096,
        on_ready: Callable[[], None] = lambda: None,
        on_failure: Callable[[], None] = lambda: None,
        on_group: OnGroup = lambda group: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._opening, self._batch, self._most, self._clock = opening, batch, queue, clock
        self._on_ready, self._on_failure, self._on_group = on_ready, on_failure, on_group
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="ranklake-writer", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending = False
        self._reason = ""  # why the log took nothing, the last time
        self._busy_since = 0.0  # of the group that is being accepted; 0 if none is
        self.waiting = 0
        self.found: Opened | None = None
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Open the runs, in the thread."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def opened(self) -> Opened:
        """The runs and their log. Raises Problem: they are not open."""
        if self.found is None:
            raise Problem(503, "the process is starting: it reads the log and its runs", retry_after=_START_SECONDS)
        return self.found

    async def accept(self, matches: Sequence[Match], by: str) -> list[Reply]:
        """The replies to matches, accepted in their order.

        Raises Problem: too many matches wait, the log takes none at present, or the process starts or ends. None of the
        matches is accepted then.
        """
        if self.waiting + len(matches) > self._most:
            raise Problem(429, f"{self.waiting:,} matches wait for the log; send the request again in a second")
        self.waiting += len(matches)
        try:
            found: list[Reply] = await self._submit(matches, by, None)
            return found
        finally:
            self.waiting -= len(matches)

    async def change(self, call: Change) -> Event:
        """The event of a change that is made between two groups; raises as :meth:`accept`, and MatchError."""
        found: Event = await self._submit((), "", call)
        return found

    def check(self) -> None:
        """Raise Problem if no match is taken now: the process starts or ends, or the log takes nothing."""
        self.opened()
        if self._ending or self.failure is not None:
            raise _ending()
        if self.stalled:
            raise unavailable()

    @property
    def ready(self) -> bool:
        """Whether matches are taken now."""
        return self.found is not None and not self._ending and self.failure is None and not self.stalled

    def end(self) -> None:
        """Accept nothing more; what waits is finished."""
        if not self._ending:
            self._ending = True
            self._jobs.put(None)

    async def close(self, seconds: float) -> None:
        """End, and wait until all is finished, so long at most."""
        self.end()
        await asyncio.to_thread(self._thread.join, seconds)

    def check_log(self) -> None:
        """Refuse what waits while the log is not available, so that clients need not; called from time to time."""
        if self.stalled:
            while True:
                try:
                    job = self._jobs.get_nowait()
                except Empty:
                    return
                if job is None:
                    self._jobs.put(None)
                    return
                _fail(job, unavailable())

    @property
    def stalled(self) -> bool:
        """Whether a group waits for a log that is not available."""
        since = self._busy_since
        late = bool(since) and time.monotonic() - since > _STALLED_SECONDS
        return late and self.found is not None and not self.found.log.available

    async def _submit(self, matches: Sequence[Match], by: str, call: Change | None) -> Any:
        self.check()
        assert self._loop is not None
        done = self._loop.create_future()
        self._jobs.put(_Job(matches, by, call, done))
        return await done

    def _run(self) -> None:
        try:
            with self._opening() as found:
                self.found = found
                self._call(self._on_ready)
                self._work(found)
        except BaseException as error:
            self.failure = error
            self._call(self._fail_all)

    def _work(self, found: Opened) -> None:
        """Accept groups until the end."""
        looked, more = 0.0, False
        while True:
            group, ended = self._next(0.0 if more else _TICK_SECONDS)
            if group:
                self._busy_since = time.monotonic()
                try:
                    for part in _parts(group):
                        self._finish(part, self._result(found, part))
                finally:
                    self._busy_since = 0.0
            if ended:
                return
            if more or time.monotonic() - looked >= _TICK_SECONDS:
                looked = time.monotonic()
                more = found.runs.close_periods(self._clock())

    def _next(self, seconds: float) -> tuple[list[_Job], bool]:
        """The jobs of the next group, after so many seconds at most, and whether there are no more after them."""
        group: list[_Job] = []
        n_matches = 0
        try:
            job = self._jobs.get(timeout=seconds) if seconds else self._jobs.get_nowait()
            while job is not None:
                group.append(job)
                n_matches += len(job.matches)
                if n_matches >= self._batch:
                    return group, False
                job = self._jobs.get_nowait()
            return group, True
        except Empty:
            return group, False

    def _result(self, found: Opened, jobs: Sequence[_Job]) -> Any:
        """The group of all matches of jobs, or the result of the one call, or the error of either."""
        call = jobs[0].call
        try:
            if call is not None:
                return call(found.runs)
            matches = [match for job in jobs for match in job.matches]
            began, appended = time.perf_counter(), found.runs.append_seconds
            names = [job.by for job in jobs for _ in job.matches]
            replies = found.runs.accept(matches, names, self._clock())
            appended = found.runs.append_seconds - appended
            return Group(replies, appended, time.perf_counter() - began - appended)
        except (LogUnavailableError, MatchError) as error:
            return error
        except BaseException as error:  # what is in the log and what is in memory may differ now: the process ends
            self._finish(jobs, Problem(503, "the process ends after an error; its log has the reason"))
            raise error

    def _finish(self, jobs: Sequence[_Job], result: Any) -> None:
        self._call(lambda: self._deliver(jobs, result))

    def _deliver(self, jobs: Sequence[_Job], result: Any) -> None:
        if isinstance(result, LogUnavailableError):
            result = self._told(result)
        else:
            self._reason = ""
        if isinstance(result, Problem | MatchError):
            for job in jobs:
                _fail(job, result)
            return
        if isinstance(result, Event):
            self._on_group(result)
            _set(jobs[0], result)
            return
        start = 0
        for job in jobs:
            _set(job, result.replies[start : start + len(job.matches)])
            start += len(job.matches)
        self._on_group(result)

    def _told(self, error: LogUnavailableError) -> Problem:
        """The error for clients; its reason, which names files or a database, is for the log of the process, once."""
        if error.reason != self._reason:
            self._reason = error.reason
            _LOG.error("the log takes no matches: %s", error.reason)
        return unavailable(error.retry_after)

    def _fail_all(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
            if job is not None:
                _fail(job, Problem(503, "the process ends after an error; its log has the reason"))
        self._on_failure()

    def _call(self, call: Callable[[], None]) -> None:
        assert self._loop is not None
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(call)


def _parts(group: Sequence[_Job]) -> list[list[_Job]]:
    """The jobs of a group: matches together, each call alone, in their order."""
    parts: list[list[_Job]] = []
    for job in group:
        if parts and job.call is None and parts[-1][0].call is None:
            parts[-1].append(job)
        else:
            parts.append([job])
    return parts


def _set(job: _Job, result: Any) -> None:
    if not job.done.done():  # the client has left
        job.done.set_result(result)


def _fail(job: _Job, error: Problem | MatchError) -> None:
    if not job.done.done():
        job.done.set_exception(error)


def _ending() -> Problem:
    return Problem(503, "the process ends; send the request again after its restart", retry_after=_START_SECONDS)


def unavailable(retry_after: float = _START_SECONDS) -> Problem:
    """The error of a log that cannot be written or read at present."""
    return Problem(503, "the log cannot be used at present; send the request again", retry_after=retry_after)
