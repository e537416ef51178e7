"""The published runs that a server shows: one immutable state each, replaced when a new version is published."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b

from ranklake.storage import Lake, LakeError, MissingError
from ranklake.storage.lake import layout

from ...answers.leaderboard import kept_boards
from ...answers.run import PublishedRun, open_published
from ...publication.root import read_manifest

_LOG = logging.getLogger(__name__)


class ServedRuns:
    """The current state of each served run; of all published runs of the lake without ``names``.

    A request takes one state and uses it to its end. The files of a state stay mapped while it is in use, also when
    their names are deleted. Raises LakeError: a named run is not published, or an index is damaged.
    """

    def __init__(self, lake: Lake, names: Sequence[str] = ()) -> None:
        self.lake, self._names = lake, tuple(names)
        self._kept = kept_boards()  # one budget for all runs
        self._runs = {name: open_published(lake, name, self._kept) for name in self._wanted()}
        self._failed: dict[str, str] = {}  # last error of each run, logged once
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.n_failures = 0

    @property
    def runs(self) -> dict[str, PublishedRun]:
        """The current states by name, sorted; never changed, but replaced."""
        return self._runs

    @property
    def etag(self) -> str:
        """The ETag of all states together."""
        text = " ".join(f"{name} {run.manifest.etag}" for name, run in self._runs.items())
        return blake2b(text.encode(), digest_size=8).hexdigest()

    @property
    def time_seconds(self) -> float:
        """Time of the last publish, UTC."""
        return max((run.manifest.time_seconds for run in self._runs.values()), default=0.0)

    def refresh(self) -> bool:
        """Open states that have changed; returns whether one was replaced. A run with an error keeps its state."""
        runs = {}
        for name in self._wanted():
            before = self._runs.get(name)
            try:
                manifest = read_manifest(self.lake, name)
                if before is not None and manifest is not None and manifest.etag == before.manifest.etag:
                    runs[name] = before
                elif manifest is not None:
                    runs[name] = open_published(self.lake, name, self._kept)
                self._failed.pop(name, None)
            except (LakeError, OSError) as error:
                self._log(name, error)
                if before is not None:
                    runs[name] = before
        changed = {name: run.manifest.etag for name, run in runs.items()} != {
            name: run.manifest.etag for name, run in self._runs.items()
        }
        if changed:
            self._runs = runs
            self._kept.clear()
        return changed

    def start(self, interval_seconds: float) -> None:
        """Refresh in a thread until :meth:`close`."""
        self._thread = threading.Thread(
            target=self._poll, args=(interval_seconds,), name="ranklake-refresh", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _poll(self, interval_seconds: float) -> None:
        while not self._ended.wait(interval_seconds):
            try:
                self.refresh()
            except Exception:
                self.n_failures += 1
                _LOG.exception("the published runs could not be read; the server goes on with the states it has")

    def _wanted(self) -> list[str]:
        if self._names:
            return sorted(self._names)
        names = []
        for name in self.lake.list(layout.PUBLISHED):
            with suppress(ValueError, MissingError):
                if self._is_indexed(name):
                    names.append(name)
        return names

    def _is_indexed(self, name: str) -> bool:
        try:
            return read_manifest(self.lake, name) is not None
        except LakeError:
            return True  # to be opened, which reports it

    def _log(self, name: str, error: Exception) -> None:
        self.n_failures += 1
        if self._failed.get(name) != str(error):
            self._failed[name] = str(error)
            _LOG.warning("run %s: %s; the server goes on with the state it has", name, error)
