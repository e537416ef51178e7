"""The lease of a data set or run, held for maintenance."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from ranklake.storage import Lake
from ranklake.storage.leases.acquire import WAIT_SECONDS, hold_lease
from ranklake.storage.leases.holder import LeaseHolder
from ranklake.storage.leases.lease import Lease

__all__ = ["OnWait", "hold_for_maintenance"]

OnWait = Callable[[LeaseHolder], None]


def hold_for_maintenance(
    lake: Lake, folder: str, purpose: str, steal: bool, on_wait: OnWait
) -> AbstractContextManager[Lease]:
    """Hold the lease of a folder; waits for its holder, and may use the lake's reserve on a full disk."""
    return hold_lease(lake, folder, purpose, steal=steal, wait_seconds=WAIT_SECONDS, on_wait=on_wait, frees_space=True)
