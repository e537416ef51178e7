"""Server-sent events: one event for each new version of a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from ...published.run import PublishedRun

__all__ = ["MOST_LISTENERS", "Listeners"]

MOST_LISTENERS = 1_000
_LOOK_SECONDS = 0.5
_ALIVE_SECONDS = 15.0  # between comments, which keep proxies from closing the connection


class Listeners:
    """Open connections that wait for new versions.

    Attributes
    ----------
    n : int
        Number of open connections.
    """

    def __init__(self) -> None:
        self.n = 0
        self._ended = False

    @property
    def full(self) -> bool:
        """Whether no more connections are accepted."""
        return self.n >= MOST_LISTENERS

    def close(self) -> None:
        """End all streams at their next look."""
        self._ended = True

    async def stream(self, current: Callable[[], PublishedRun | None]) -> AsyncIterator[bytes]:
        """The events about a run: the current version at once, then each new one.

        Parameters
        ----------
        current
            The state of the run; None if it is no longer published, which ends the stream.
        """
        self.n += 1
        last, quiet = None, 0.0
        try:
            while not self._ended and (run := current()) is not None:
                if last is None or run.manifest.etag != last.manifest.etag:
                    yield _event(run, last)
                    last, quiet = run, 0.0
                elif quiet >= _ALIVE_SECONDS:
                    yield b": alive\n\n"
                    quiet = 0.0
                await asyncio.sleep(_LOOK_SECONDS)
                quiet += _LOOK_SECONDS
        finally:
            self.n -= 1


def _event(run: PublishedRun, last: PublishedRun | None) -> bytes:
    manifest = run.manifest
    facts: dict[str, Any] = {"run": run.name, "version": manifest.etag, "n_rounds": manifest.n_rounds}
    if last is not None:
        facts |= {"previous": last.manifest.etag, "previous_n_rounds": last.manifest.n_rounds}
    return b"event: version\nid: %s\ndata: %s\n\n" % (manifest.etag.encode(), msgspec.json.encode(facts))
