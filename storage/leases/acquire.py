"""Taking a lease: waiting for its holder, taking over from one that has ended, and removing the leases of the past."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from ..lake.access.lake import Lake
from ..lake.errors import DamagedError, LakeError, LeaseHeldError, MissingError
from ..lake.layout import fence_number, number_of, numbered
from ..lake.remedies import remedy_for
from .fence import open_fence
from .holder import HELD, LeaseHolder, encode_lease, lease_file, lease_number, lease_numbers, newest_lease, read_lease
from .lease import Lease
from .reserve import refill_reserve, with_reserve

HEARTBEAT_SECONDS = 10.0
MISSED_HEARTBEATS = 6  # after this many the holder counts as ended
FORGOTTEN_SECONDS = 30 * 86_400.0  # after this long without a heartbeat a writer does not come back
WAIT_SECONDS = 600.0  # of an ingest and of maintenance, for a writer to end


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
    """Hold the lease on a folder of the lake for the length of a ``with`` block.

    ``purpose``: the work under the lease, shown to other users.
    ``steal``: take over even from a running holder: for an operator who knows that the holder has ended.
    ``wait_seconds``: how long to wait until a running holder ends.
    ``on_wait``: called once with the holder, when waiting begins.
    ``heartbeat_seconds``: time between heartbeats. A holder on another machine counts as ended when its clock and ours
    are ``MISSED_HEARTBEATS`` heartbeats apart and then no heartbeat comes for the time of three: clocks may be wrong.
    ``frees_space``: whether the work frees space. It may then use the lake's reserve to take the lease on a full disk.
    Raises LeaseHeldError: another process holds the lease; names it, the age of its last heartbeat and the remedy.
    Raises NoSpaceError: the disk is full, also without the reserve.
    """
    deadline, waiting = time.monotonic() + wait_seconds, False
    while True:
        # Before the newest lease is looked at: of a lease that is taken later, the number fails.
        number = _next_number(lake, folder)
        newest = None if steal else newest_lease(lake, folder)  # also from a holder whose file is not readable
        if newest is None or lake.local:  # where A and a are one folder, the lease may be that of another name
            lake.check_new_folder(folder)
        if newest is not None and not _is_free(lake, folder, newest, heartbeat_seconds):
            if time.monotonic() < deadline:
                if not waiting:
                    on_wait(newest[1])
                    waiting = True
                time.sleep(min(0.2, heartbeat_seconds))
                continue
            # Read again: a lease file that was empty may name its holder by now.
            raise _held_error(folder, (newest_lease(lake, folder) or newest)[1])
        holder = LeaseHolder.this_process(purpose, time.time())
        take = partial(_try_to_take, lake, folder, number, holder)
        if with_reserve(lake, take) if frees_space else take():
            break
        steal = False  # another process was faster, and is running
    lease = Lease(lake, folder, number, holder, heartbeat_seconds)
    try:
        lake.check_conditions(lease_file(folder, number), encode_lease(holder))
        if not frees_space:
            refill_reserve(lake)
        lake.log_limitations(lease_file(folder, number))
        predecessor = _remove_old_leases(lake, folder, number)
        lease.predecessor = -1 if lake.local else predecessor
        yield lease
        lease.check()  # a writer that lost the lease must not report success
        lake.flush()
    except MissingError:
        lease.check()  # a successor may have deleted the file
        raise
    finally:
        lease.release()
        refill_reserve(lake)


def _try_to_take(lake: Lake, folder: str, number: int, holder: LeaseHolder) -> bool:
    """Create the lease with that number; returns whether it is the newest."""
    HELD.add(holder.token)  # before the file exists: without it, another thread would count this holder as ended
    taken = False
    try:
        if lake.create_bytes(lease_file(folder, number), encode_lease(holder)):
            try:
                fence = open_fence(lake, folder, number) if lake.local else ""
            except LakeError:
                with suppress(LakeError):
                    lake.delete(lease_file(folder, number))
                raise
            # Checked after the fence exists, see ranklake.storage.leases.fence.
            newest = newest_lease(lake, folder)
            taken = newest == (number, holder)
            if not taken and (newest is None or newest[0] != number):
                lake.delete(lease_file(folder, number))  # the number was held, released and deleted meanwhile
                if fence:
                    lake.delete_folder(fence)
    finally:
        if not taken:
            HELD.discard(holder.token)
    return taken


def _next_number(lake: Lake, folder: str) -> int:
    """A number above all leases, and above all fences: a lease file may have been deleted by hand.

    Raises LakeError: there is none that ``ranklake.storage.lake.layout.number_of`` reads.
    """
    numbers = {name: max(lease_number(name), fence_number(name)) for name in lake.list(folder)}
    last = max(numbers, key=numbers.__getitem__, default="")
    number = numbers.get(last, -1) + 1
    if number_of(numbered(number)) is None:
        path = f"{folder}/{last}"
        raise LakeError(f"{path}: no command reaches its number; {remedy_for(lease_file(folder, number))}", path=path)
    return number


def _is_free(lake: Lake, folder: str, newest: tuple[int, LeaseHolder], heartbeat_seconds: float) -> bool:
    """Whether the lease was released, or its holder has ended."""
    number, seen = newest
    if seen.released or seen.died:
        return True
    if seen.alive or abs(time.time() - seen.time_seconds) <= MISSED_HEARTBEATS * heartbeat_seconds:
        return False
    watched_until = time.monotonic() + 3 * heartbeat_seconds
    while time.monotonic() < watched_until:
        time.sleep(heartbeat_seconds / 5)
        now = newest_lease(lake, folder)
        if now is None or now[0] != number or now[1].released:
            return False  # another process took over: check again
        if now[1].heartbeats != seen.heartbeats:
            return False
    return True


def _held_error(folder: str, by: LeaseHolder) -> LeaseHeldError:
    age = max(time.time() - by.time_seconds, 0.0) if by.time_seconds else 0.0
    return LeaseHeldError(
        f"{folder}: {by.owner} holds the lease, last heartbeat {age:.0f} s ago; "
        "wait for it, or use --steal if that process has certainly ended",
        path=folder,
        holder=by.owner,
        age_seconds=age,
    )


def _remove_old_leases(lake: Lake, folder: str, number: int) -> int:
    """Delete older leases whose holders have ended; returns the newest one that may still be in use, -1 if none.

    The lease after one that may still be in use stays, too: the old holder detects by it that it lost the lease.
    """
    stays, predecessor = False, -1
    for old in sorted(old for old in lease_numbers(lake, folder) if old < number):
        with suppress(MissingError):
            try:
                was = read_lease(lake, folder, old)
            except DamagedError:  # on a disk its fence is revoked; in a store its holder may still write
                if lake.local:
                    with suppress(LakeError):  # it may be a folder
                        lake.delete(lease_file(folder, old))
                else:
                    stays, predecessor = True, old
                continue
            ended = was.released or was.died or time.time() - was.time_seconds > FORGOTTEN_SECONDS
            if ended and not stays:
                lake.delete(lease_file(folder, old))
            stays = not ended
            predecessor = old if stays else predecessor
    return predecessor
