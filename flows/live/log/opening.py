"""Open the log at an address."""

from __future__ import annotations

from collections.abc import Callable

from .database import DatabaseLog
from .folder import FolderLog
from .records import Log

IDS_SECONDS = 30 * 86_400.0


def open_log(
    url: str,
    dataset: str,
    *,
    ids_seconds: float = IDS_SECONDS,
    steal: bool = False,
    wait_seconds: float = 0.0,
    on_wait: Callable[[str], None] = lambda _: None,
) -> Log:
    """The log of a data set at ``file:DIR`` or at the address of a database of PostgreSQL.

    ``ids_seconds``: how long the ids of matches stay in memory; older ones are looked up where the log is.
    ``steal``: take a folder over even from a running holder; the lock of a database ends with its connection.
    ``wait_seconds``, ``on_wait``: how long to wait for another process that writes the log, and what is called once
    with its name.

    Raises ValueError: the address has another form.
    Raises LeaseHeldError: another process writes the log; names it.
    Raises DamagedError, NoSpaceError, DatabaseError: the log cannot be opened.
    """
    kind, colon, rest = url.partition(":")
    if kind == "file" and rest:
        folder = rest.removeprefix("//")
        return FolderLog(
            folder,
            dataset,
            ids_seconds=ids_seconds,
            steal=steal,
            wait_seconds=wait_seconds,
            on_wait=lambda holder: on_wait(holder.owner),
        )
    if kind in ("postgresql", "postgres") and colon:
        return DatabaseLog(url, dataset, wait_seconds=wait_seconds, on_wait=on_wait)
    raise ValueError("the address of a log must be file:DIR or postgresql://USER@HOST/DATABASE")
