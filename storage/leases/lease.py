"""One writer at a time: a lease on a run or a data set, with a heartbeat, that expires when its holder ends.

A lease is a numbered file, ``lease-000007.json``, that can be created only once. The highest number holds the lease. A
takeover creates the next number: of two processes that try, one succeeds, and neither removes the file of the other. A
holder that counted as ended (it was suspended or cut off) finds the higher number before its next commit and stops. If
it is suspended between that check and the commit, a fence (``ranklake.storage.leases.fence``) makes the commit fail.
Therefore all changes under a lease are made through :attr:`Lease.lake`.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from msgspec.structs import replace

from ..lake.access.files import Guard
from ..lake.access.lake import Lake
from ..lake.errors import ConflictError, FencedError, LakeError, LeaseHeldError, MissingError
from ..lake.layout import PUBLISHED, RUNS, TEMPORARY_PREFIX, fence_folder
from .holder import HELD, LeaseHolder, encode_lease, lease_file, newest_lease, read_lease


class Lease(Guard):
    """A lease that is held. Made by :func:`ranklake.storage.leases.acquire.hold_lease`.

    ``lake``: the lake, to change files in the folder of the lease.
    ``number``: number of the lease; of two leases on a folder the later one has the higher number.
    ``predecessor``: highest number of an older lease whose holder may still write; -1 if there is none, or a fence
    excludes it.
    """

    def __init__(self, lake: Lake, folder: str, number: int, holder: LeaseHolder, heartbeat_seconds: float) -> None:
        super().__init__(fence_folder(folder, number) if lake.local else "")
        self.lake, self._lake, self._folder, self._holder = lake.under(self), lake, folder, holder
        self.number, self.predecessor = number, -1
        self._ended = threading.Event()
        self._heartbeat = threading.Thread(
            target=self._send_heartbeats, args=(heartbeat_seconds,), name="ranklake-lease", daemon=True
        )
        self._heartbeat.start()

    def check(self) -> None:
        """Check that this lease is still the newest.

        Raises LeaseHeldError: another process took over; the error names it.
        """
        try:  # a read is one request to a store, a check for existence may be two
            self._lake.read_bytes(lease_file(self._folder, self.number + 1))
        except MissingError:
            if not self.fence or self._lake.exists(self.fence):
                return
        raise self._lost_error()

    @contextmanager
    def delegate(self) -> Iterator[Delegate]:
        """Let other processes write files under this lease for the length of a ``with`` block.

        Raises LeaseHeldError: another process took over.
        """
        fence = f"{self.fence}/{secrets.token_hex(8)}" if self.fence else ""
        if fence:
            try:
                self._lake.make_fence(fence)
            except MissingError as error:  # the fence of this lease is gone
                raise self._lost_error() from error
        try:
            yield Delegate(self._lake.uri("").rstrip("/"), self._folder, self.number, self._holder.token, fence)
        finally:
            if fence:
                with suppress(LakeError):  # a late file has another name than all that are committed
                    self._lake.revoke_fence(fence)

    @contextmanager
    def changing(self, path: str) -> Iterator[None]:
        """Change a file in the folder of the lease; the lease on a run also covers the run's published tables.

        Raises LeaseHeldError: another process took over; nothing was changed.
        Raises ConflictError: the file is of another version, though no process took over.
        """
        assert f"{path}/".startswith(tuple(f"{folder}/" for folder in self._folders)), path
        try:
            yield
        except FencedError as error:
            raise self._lost_error() from error
        except ConflictError as error:
            self.check()
            raise ConflictError(f"{error}, though this process holds the lease; run again", path=path) from error

    @property
    def _folders(self) -> tuple[str, ...]:
        published = self._folder.replace(RUNS, PUBLISHED, 1)
        return (self._folder, published) if self._folder.startswith(f"{RUNS}/") else (self._folder,)

    def _lost_error(self) -> LeaseHeldError:
        newest = None
        with suppress(LakeError):  # its file may not be readable
            newest = newest_lease(self._lake, self._folder)
        by = newest[1].owner if newest else "another process"
        return LeaseHeldError(
            f"{self._folder}: {by} took over from this process, whose lease had expired or was stolen; it stops here, "
            "and its commits until then stay",
            path=self._folder,
        )

    def release(self) -> None:
        """Release the lease and delete temporary files in the folder; does nothing if another process took over."""
        self._ended.set()
        self._heartbeat.join()
        HELD.discard(self._holder.token)
        for folder in self._folders:  # after an error; otherwise all is flushed
            self._lake.forget(folder)
        with suppress(LakeError):  # the next holder deletes the rest
            for name in self._lake.list(self._folder) if self._lake.local else ():
                if name.startswith(TEMPORARY_PREFIX):  # of an ended process: a running one would hold the lease
                    self._lake.delete_folder(f"{self._folder}/{name}")
        with suppress(LakeError):  # without this write the lease expires; on this machine at once
            self._write(replace(self._holder, released=True))
        if self.fence:
            with suppress(LakeError):
                self._lake.delete_folder(self.fence)

    def _send_heartbeats(self, heartbeat_seconds: float) -> None:
        while not self._ended.wait(heartbeat_seconds):
            self._holder = replace(self._holder, heartbeats=self._holder.heartbeats + 1, time_seconds=time.time())
            with suppress(LakeError):  # the store may be unreachable for a moment
                self._write(self._holder)

    def _write(self, holder: LeaseHolder) -> None:
        # Not through the fence: no other process writes this number, and a holder that lost the lease may release it.
        self._lake.rewrite_bytes(lease_file(self._folder, self.number), encode_lease(holder))


@dataclass(frozen=True, slots=True)
class Delegate:
    """What a process needs to write under the lease of another one. Made by ``Lease.delegate``; can be pickled.

    On a disk these processes write through a folder of their own inside the fence of the lease. The lease holder
    removes it when it waits for them no longer. Then a late write fails, as does one after the loss of the lease. In an
    object store a late put succeeds. Therefore such a file has the digest of its content as its name, and exists for
    readers only when the holder of the lease commits a manifest that names it.

    ``address``: of the lake, from any working folder.
    ``folder``: the folder under the lease.
    ``lease``: number of the lease.
    ``token``: unique to the lease.
    ``fence``: the folder for writes on a disk; empty in an object store.
    """

    address: str
    folder: str
    lease: int
    token: str
    fence: str

    def open(self) -> Lake:
        """The lake.

        Raises LakeError: this process does not reach the lake, or finds another one at the same address.
        """
        lake = Lake.open(self.address)
        if read_lease(lake, self.folder, self.lease).token != self.token:
            raise LakeError(f"{self.address}: another lake has this address here")
        return lake
