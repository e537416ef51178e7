"""Corrections of the past: a second state is computed from the lake and the log, and then takes the place of the first.

Until then the first state serves, and matches are rated in it. The second one is loaded as at the start of the process,
so it is that of a batch run of the corrected data set, with the records of the log since then.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

from .log.records import Log
from .periods.closing import PeriodWriter
from .runs import OpenedRuns

_BEHIND = 256  # records that are left for the thread that rates, at which the states are exchanged


class Rebased(NamedTuple):
    """A state that took the place of another one.

    ``sequence``: of its last record. ``n_changed``: players with another belief.
    """

    sequence: int
    n_changed: int


class Rebase:
    """At most one second state at a time.

    ``load``: the runs from the lake and the log. ``wanted``: whether a correction waits for a state that has it.
    ``removing``: sequence numbers of the matches that these remove. ``last``: the last exchange.
    """

    def __init__(self, load: Callable[[], OpenedRuns], writer: PeriodWriter) -> None:
        self._load, self._writer = load, writer
        self._loading: Future[tuple[OpenedRuns, int]] | None = None
        self._asked: set[int] = set()  # of the state that is loading
        self.removing: set[int] = set()
        self.last: Rebased | None = None

    @property
    def wanted(self) -> bool:
        return bool(self.removing)

    def want(self, sequence: int) -> None:
        """Remove a match, by its sequence number."""
        self.removing.add(sequence)

    def advance(self, runs: OpenedRuns, log: Log) -> OpenedRuns:
        """Go on: the runs to serve from now on, the same ones until the second state has caught up.

        After a failure the first state goes on serving, and it is tried again later.
        """
        if self._loading is None:
            if self._writer.idle:
                self._asked = set(self.removing)
                self._loading = self._writer.in_turn(lambda: self._caught_up(runs, log))
            return runs
        if not self._loading.done():
            return runs
        loading, self._loading = self._loading, None
        try:
            found, n_changed = loading.result()
            found.replay(log)
        except Exception as error:
            self._writer.fail(f"a correction: {error}")
            return runs
        self._writer.failure = self._writer.mismatch
        self.removing -= self._asked
        self.last = Rebased(found.last, n_changed)
        return found

    def _caught_up(self, before: OpenedRuns, log: Log) -> tuple[OpenedRuns, int]:
        """The corrected runs, a few records behind the log, and how many players they have changed."""
        self._writer.correct()
        found = self._load()
        while log.last - found.last > _BEHIND:
            found.replay(log)
        return found, found.n_changed(before)
