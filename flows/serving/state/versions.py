"""Events about the versions of a run: the current one at once, then each new one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from ...answers.run import PublishedRun
from ...http.server.streams import ALIVE, ALIVE_SECONDS, Listeners

_LOOK_SECONDS = 0.5


async def version_events(listeners: Listeners, current: Callable[[], PublishedRun | None]) -> AsyncIterator[bytes]:
    """The events; they end where ``current`` finds no published run, or ``listeners`` ends."""
    last, quiet = None, 0.0
    while not listeners.ended and (run := current()) is not None:
        if last is None or run.manifest.etag != last.manifest.etag:
            yield _event(run, last)
            last, quiet = run, 0.0
        elif quiet >= ALIVE_SECONDS:
            yield ALIVE
            quiet = 0.0
        await asyncio.sleep(_LOOK_SECONDS)
        quiet += _LOOK_SECONDS


def _event(run: PublishedRun, last: PublishedRun | None) -> bytes:
    manifest = run.manifest
    facts: dict[str, Any] = {"run": run.name, "version": manifest.etag, "n_rounds": manifest.n_rounds}
    if last is not None:
        facts |= {"previous": last.manifest.etag, "previous_n_rounds": last.manifest.n_rounds}
    return b"event: version\nid: %s\ndata: %s\n\n" % (manifest.etag.encode(), msgspec.json.encode(facts))
