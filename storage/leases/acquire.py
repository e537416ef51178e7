"""Taking a lease: waiting for its holder, taking over from one that has ended, and removing the leases of the past."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from ..lake.errors import LakeError, LeaseHeldError, MissingError
from ..lake.lake import Lake
from ..lake.naming import check_folder
from .fence import open_fence
from .holder import HELD, LeaseHolder, encode_lease, lease_file, lease_numbers, newest_lease, read_lease
from .lease import Lease
from .reserve import refill_reserve, with_reserve

__all__ = ["HEARTBEAT_SECONDS", "MISSED_HEARTBEATS", "hold_lease"]

HEARTBEAT_SECONDS = 10.0
MISSED_HEARTBEATS = 6  # after so many the holder counts as ended
FORGOTTEN_SECONDS = 30 * 86_400.0  # after so long without a heartbeat a writer does not come back


@contextmanager
def hold_lease(
    lake: Lake,
    folder: str,
    purpose: str,
    *,
    steal: bool = False,
    wait_seconds: float = 0.0,
    on_wait: Callable[[LeaseHolder], None] = lambda _: None,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
    frees_space: bool = False,
) -> Iterator[Lease]:
    """Be the only writer of a folder of the lake for the length of a ``with`` block.

    Parameters
    ----------
    purpose
        What the holder is at, for others to read.
    steal
        Take over whoever holds it: for an operator who knows that they are dead.
    wait_seconds
        How long to wait for a living holder to end.
    on_wait
        Called once, when waiting begins, with the holder.
    heartbeat_seconds
        Between heartbeats. A holder on another machine is taken for dead when its clock and ours are
        ``MISSED_HEARTBEATS`` apart and no heartbeat comes for three of them: a clock alone proves nothing.
    frees_space
        Whether the holder frees space, and may use the lake's reserve to take the lease on a full disk.

    Raises
    ------
    LeaseHeldError
        Somebody else is at work there; names them, the age of their last heartbeat and the way out.
    NoSpaceError
        The disk is full, and so it was without the reserve.
    """
    deadline, told = time.monotonic() + wait_seconds, False
    while True:
        found = newest_lease(lake, folder)
        if found is None or lake.local:  # where A and a are one folder, a lease that was found may be another name's
            check_folder(lake, folder)
        if found is not None and not steal and not _is_free(lake, folder, found, heartbeat_seconds):
            if time.monotonic() < deadline:
                if not told:
                    on_wait(found[1])
                    told = True
                time.sleep(min(0.2, heartbeat_seconds))
                continue
            raise _held_error(
                folder, (newest_lease(lake, folder) or found)[1]
            )  # a lease that was empty may have a name by now
        number = found[0] + 1 if found else 0
        holder = LeaseHolder.this_process(purpose, time.time())
        take = partial(_try_to_take, lake, folder, number, holder)
        if with_reserve(lake, take) if frees_space else take():
            break
        steal = False  # somebody was faster, and is alive
    lease = Lease(lake, folder, number, holder, heartbeat_seconds)
    try:
        if not frees_space:
            refill_reserve(lake)
        lake.log_limitations(lease_file(folder, number))
        predecessor = _remove_old_leases(lake, folder, number)
        lease.predecessor = -1 if lake.local else predecessor
        yield lease
        lease.check()  # who was overtaken must not report success, whatever was changed by then
    except MissingError:
        lease.check()  # who took over may have removed it
        raise
    finally:
        lease.release()
        refill_reserve(lake)


def _try_to_take(lake: Lake, folder: str, number: int, holder: LeaseHolder) -> bool:
    """Put down a lease under a number; whether it is the one that counts."""
    HELD.add(holder.token)  # before anybody sees it, who would take us for dead
    taken = False
    try:
        if lake.create_bytes(lease_file(folder, number), encode_lease(holder)):
            try:
                fence = open_fence(lake, folder, number) if lake.local else ""
            except LakeError:
                with suppress(LakeError):
                    lake.delete(lease_file(folder, number))
                raise
            taken = (
                max(lease_numbers(lake, folder)) == number
            )  # looked at after the fence is there, see ranklake.storage.leases.fence
            if not taken:
                lake.delete(lease_file(folder, number))  # it had been held, given back and swept since we looked
                if fence:
                    lake.delete_folder(fence)
    finally:
        if not taken:
            HELD.discard(holder.token)
    return taken


def _is_free(lake: Lake, folder: str, found: tuple[int, LeaseHolder], heartbeat_seconds: float) -> bool:
    """Whether nobody holds the lease any more."""
    number, seen = found
    if seen.released or seen.died:
        return True
    if seen.alive or abs(time.time() - seen.time_seconds) <= MISSED_HEARTBEATS * heartbeat_seconds:
        return False
    watched_until = time.monotonic() + 3 * heartbeat_seconds
    while time.monotonic() < watched_until:
        time.sleep(heartbeat_seconds / 5)
        now = newest_lease(lake, folder)
        if now is None or now[0] != number or now[1].released:
            return False  # it has changed hands: look again
        if now[1].heartbeats != seen.heartbeats:
            return False
    return True


def _held_error(folder: str, by: LeaseHolder) -> LeaseHeldError:
    age = max(time.time() - by.time_seconds, 0.0) if by.time_seconds else 0.0
    return LeaseHeldError(
        f"{folder}: {by.owner} is at work there, last heartbeat {age:.0f} s ago; "
        "wait for it, or if it is dead for certain, use --steal",
        path=folder,
        holder=by.owner,
        age_seconds=age,
    )


def _remove_old_leases(lake: Lake, folder: str, number: int) -> int:
    """Remove the leases before ``number`` of those who will not come back; returns the last one of those who may.

    Of one who may, the successor's stays, too: it is what tells him.
    """
    stays, predecessor = False, -1
    for old in sorted(old for old in lease_numbers(lake, folder) if old < number):
        with suppress(MissingError):
            was = read_lease(lake, folder, old)
            gone = was.released or was.died or time.time() - was.time_seconds > FORGOTTEN_SECONDS
            if gone and not stays:
                lake.delete(lease_file(folder, old))
            stays = not gone
            predecessor = old if stays else predecessor
    return predecessor
