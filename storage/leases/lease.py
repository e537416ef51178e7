"""One writer at a time: a lease on a run or a data set, with a heartbeat, that expires when its holder dies.

A lease is a numbered file, ``lease-000007.json``, that can be created only once; the highest number holds. Taking over
from the dead is creating the next number, so of two who try one succeeds and none removes the other's. A holder who was
taken for dead (suspended, cut off) finds the higher number before his next commit and stops. If he is suspended between
that look and the commit, a fence (see ``ranklake.storage.leases.fence``) makes the commit fail. All that is changed
under a lease is therefore changed through :class:`Lease`.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from ..lake import parquet
from ..lake.errors import ConflictError, FencedError, LakeError, LeaseHeldError, MissingError
from ..lake.json_files import decode
from ..lake.lake import Lake, Written, digest_of
from ..lake.layout import PUBLISHED, RUNS, TEMPORARY_PREFIX, fence_folder, number_of, numbered
from ..lake.naming import check_folder
from .fence import open_fence
from .identity import author
from .processes import machine, started, state
from .reserve import refill_reserve, with_reserve

__all__ = ["HEARTBEAT_SECONDS", "MISSED_HEARTBEATS", "Lease", "LeaseHolder", "hold_lease", "lease_holder"]

HEARTBEAT_SECONDS = 10.0
MISSED_HEARTBEATS = 6  # a heart that missed so many has stopped
_BYTES = 512  # a lease is padded to one sector, so that a full disk can take its heartbeats in place
FORGOTTEN_SECONDS = 30 * 86_400.0  # after which nobody comes back
_BEING_TAKEN = "a process that is just taking it"  # of an empty file, see ranklake.storage.lake.disk.Disk.create
_HELD: set[str] = set()  # tokens of what this process holds
_PREFIX = "lease-"
_SUFFIX = ".json"


class LeaseHolder(msgspec.Struct, frozen=True):
    """The holder of a lease. Its JSON, in this order of keys, is the file of the lease.

    Attributes
    ----------
    owner : str
        user@host, the purpose and the process.
    machine : str
        The scope of process numbers: host, boot and process namespace.
    pid, started
        The process, and its start time: a later process may have the same number.
    token : str
        Unique to this lease.
    heartbeats : int
        Heartbeats so far.
    time_seconds : float
        The holder's clock at the last heartbeat, UTC.
    released : bool
        Whether the lease was released.
    """

    owner: str = msgspec.field(name="who")
    machine: str
    pid: int
    started: str
    token: str
    heartbeats: int = msgspec.field(name="beats")
    time_seconds: float
    released: bool = False

    @classmethod
    def this_process(cls, purpose: str, now: float) -> LeaseHolder:
        """This process."""
        owner = f"{author()} ({purpose}, process {os.getpid()})"
        return cls(owner, machine(), os.getpid(), started(os.getpid()), secrets.token_hex(8), 0, now)

    @property
    def died(self) -> bool:
        """Whether the process is known to have ended, or to have failed to give it back: only on its own machine."""
        if self.machine != machine():
            return False
        if self.pid == os.getpid():
            return self.token not in _HELD
        return state(self.pid, self.started) == "ended"

    @property
    def alive(self) -> bool:
        """Whether the process is known to be there: only on its own machine."""
        if self.machine != machine():
            return False
        return self.token in _HELD or state(self.pid, self.started) == "alive"


class Lease:
    """A lease that is held. Made by :func:`hold_lease`.

    Attributes
    ----------
    number : int
        Its number; of two leases on a folder the later one has the higher number.
    predecessor : int
        Highest number of an older lease whose holder may come back; -1 if there is none, or a fence keeps it out.
    """

    def __init__(self, lake: Lake, folder: str, number: int, holder: LeaseHolder, heartbeat_seconds: float) -> None:
        self._lake, self._folder, self._holder = lake, folder, holder
        self.number, self.predecessor = number, -1
        self._fence = fence_folder(folder, number) if lake.local else ""
        self._ended = threading.Event()
        self._heartbeat = threading.Thread(
            target=self._send_heartbeats, args=(heartbeat_seconds,), name="ranklake-lease", daemon=True
        )
        self._heartbeat.start()

    def check(self) -> None:
        """Stop a writer who was taken for dead; to be called before every commit.

        Raises
        ------
        LeaseHeldError
            Somebody else has taken over; names them.
        """
        try:  # to read is one request to a store, to ask whether a file exists may be two
            self._lake.read_bytes(_path(self._folder, self.number + 1))
        except MissingError:
            if not self._fence or self._lake.exists(self._fence):
                return
        raise self._lost_error()

    def write_bytes(self, path: str, data: bytes | pa.Buffer) -> None:
        """Make or replace a file, as ``Lake.write_bytes``.

        Raises
        ------
        LeaseHeldError
            Somebody else has taken over, and nothing was changed.
        """
        with self._fenced(path):
            self._lake.write_bytes(path, data, fence=self._fence)

    def write_table(
        self, path: str, table: pa.Table, name: str, *, metadata: Mapping[str, str] | None = None
    ) -> Written:
        """Make or replace a Parquet file, as ``Lake.write_table``; raises as :meth:`write_bytes`."""
        data = parquet.encode(table, name, metadata)
        self.write_bytes(path, data)
        return Written(data.size, digest_of(data))

    def create_bytes(self, path: str, data: bytes) -> bool:
        """Make a file unless there is one, as ``Lake.create_bytes``; raises as :meth:`write_bytes`."""
        with self._fenced(path):
            return self._lake.create_bytes(path, data, fence=self._fence)

    def replace_bytes(self, path: str, data: bytes | pa.Buffer, version: str) -> str:
        """Replace a file if it is of the version that was read, as ``Lake.replace_bytes``; returns the new version.

        Raises
        ------
        LeaseHeldError
            Somebody else has taken over, and nothing was changed.
        ConflictError
            It is of another version though nobody has.
        """
        with self._fenced(path):
            return self._lake.replace_bytes(path, data, version, fence=self._fence)

    def delete(self, path: str, version: str = "") -> None:
        """Remove a file, as ``Lake.delete``, or a version of it; raises as :meth:`replace_bytes`."""
        with self._fenced(path):
            if version:
                self._lake.delete_version(path, version)
            else:
                self._lake.delete(path, fence=self._fence)

    def delete_folder(self, folder: str) -> None:
        """Remove a folder, as ``Lake.delete_folder``; raises as :meth:`write_bytes`."""
        with self._fenced(folder):
            if self._lake.local:
                self._lake.delete_folder(folder, fence=self._fence)
            else:
                self._lake.delete_listed(folder, self.check)

    @contextmanager
    def _fenced(self, path: str) -> Iterator[None]:
        """Change a file of what the lease is on: a run's is also on what was published of the run."""
        published = self._folder.replace(RUNS, PUBLISHED, 1) if self._folder.startswith(f"{RUNS}/") else self._folder
        assert f"{path}/".startswith((f"{self._folder}/", f"{published}/")), path
        try:
            yield
        except FencedError as error:
            raise self._lost_error() from error
        except ConflictError as error:
            self.check()
            raise ConflictError(f"{error}, though this process holds the lease; run again", path=path) from error

    def _lost_error(self) -> LeaseHeldError:
        found = _highest(self._lake, self._folder)
        by = found[1].owner if found else "somebody"
        return LeaseHeldError(
            f"{self._folder}: {by} took over from this process, which showed no sign of life; it stops here, "
            "and what it committed before stays",
            path=self._folder,
        )

    def release(self) -> None:
        """Give it back, and sweep what the dead left half written in the folder; nothing happens if it was taken."""
        self._ended.set()
        self._heartbeat.join()
        _HELD.discard(self._holder.token)
        with suppress(LakeError):  # what is left the next one sweeps
            for name in self._lake.list(self._folder) if self._lake.local else ():
                if name.startswith(TEMPORARY_PREFIX):  # of nobody who is alive: who looks sees that it is held
                    self._lake.delete(f"{self._folder}/{name}")
        with suppress(LakeError):  # then it expires, here at once
            self._write(replace(self._holder, released=True))
        if self._fence:
            with suppress(LakeError):
                self._lake.delete_folder(self._fence)

    def _send_heartbeats(self, heartbeat_seconds: float) -> None:
        while not self._ended.wait(heartbeat_seconds):
            self._holder = replace(self._holder, heartbeats=self._holder.heartbeats + 1, time_seconds=time.time())
            with suppress(LakeError):  # a store out of reach for a moment
                self._write(self._holder)

    def _write(self, holder: LeaseHolder) -> None:
        # Not through the fence: its number is its own, and who has lost the lease may still say that it gave up.
        self._lake.rewrite_bytes(_path(self._folder, self.number), _encode(holder))


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
        found = _highest(lake, folder)
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
                folder, (_highest(lake, folder) or found)[1]
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
        lake.log_limitations(_path(folder, number))
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


def lease_holder(lake: Lake, folder: str) -> LeaseHolder | None:
    """Who is at work in a folder, as far as its files say; None if nobody is."""
    found = _highest(lake, folder)
    return None if found is None or found[1].released or found[1].died else found[1]


def _try_to_take(lake: Lake, folder: str, number: int, holder: LeaseHolder) -> bool:
    """Put down a lease under a number; whether it is the one that counts."""
    _HELD.add(holder.token)  # before anybody sees it, who would take us for dead
    taken = False
    try:
        if lake.create_bytes(_path(folder, number), _encode(holder)):
            try:
                fence = open_fence(lake, folder, number) if lake.local else ""
            except LakeError:
                with suppress(LakeError):
                    lake.delete(_path(folder, number))
                raise
            taken = (
                max(_numbers(lake, folder)) == number
            )  # looked at after the fence is there, see ranklake.storage.leases.fence
            if not taken:
                lake.delete(_path(folder, number))  # it had been held, given back and swept since we looked
                if fence:
                    lake.delete_folder(fence)
    finally:
        if not taken:
            _HELD.discard(holder.token)
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
        now = _highest(lake, folder)
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
    for old in sorted(old for old in _numbers(lake, folder) if old < number):
        with suppress(MissingError):
            was = _decode(lake.read_bytes(_path(folder, old)), _path(folder, old))
            gone = was.released or was.died or time.time() - was.time_seconds > FORGOTTEN_SECONDS
            if gone and not stays:
                lake.delete(_path(folder, old))
            stays = not gone
            predecessor = old if stays else predecessor
    return predecessor


def _highest(lake: Lake, folder: str) -> tuple[int, LeaseHolder] | None:
    for number in sorted(_numbers(lake, folder), reverse=True):
        with suppress(MissingError):  # its successor has just removed it
            return number, _decode(lake.read_bytes(_path(folder, number)), _path(folder, number))
    return None


def _numbers(lake: Lake, folder: str) -> list[int]:
    return [number for name in lake.list(folder) if (number := _number(name)) is not None]


def _number(name: str) -> int | None:
    return number_of(name.removeprefix(_PREFIX), _SUFFIX) if name.startswith(_PREFIX) else None


def _path(folder: str, number: int) -> str:
    return f"{folder}/{_PREFIX}{numbered(number, _SUFFIX)}"


def _encode(holder: LeaseHolder) -> bytes:
    return json.dumps(msgspec.to_builtins(holder), allow_nan=False).encode().ljust(_BYTES)


def _decode(data: bytes, path: str) -> LeaseHolder:
    if not data:
        return LeaseHolder(_BEING_TAKEN, "", 0, "", "", -1, 0.0)
    return decode(LeaseHolder, data, path, versioned=False)
