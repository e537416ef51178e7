"""The lease of a data set or run, held for maintenance."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from ranklake.storage import Lake
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.holder import LeaseHolder
from ranklake.storage.leases.lease import Lease

__all__ = ["LEASE_TIMEOUT_SECONDS", "OnWait", "hold_for_maintenance"]

LEASE_TIMEOUT_SECONDS = 600.0  # for a writer to finish

OnWait = Callable[[LeaseHolder], None]


def hold_for_maintenance(
    lake: Lake, folder: str, purpose: str, steal: bool, on_wait: OnWait
) -> AbstractContextManager[Lease]:
    """Hold the lease of a folder; waits for its holder, and may use the lake's reserve on a full disk."""
    wait = LEASE_TIMEOUT_SECONDS
    return hold_lease(lake, folder, purpose, steal=steal, wait_seconds=wait, on_wait=on_wait, frees_space=True)
