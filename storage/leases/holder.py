"""Lease files: the holder that each names, and the numbers of those in a folder."""

from __future__ import annotations

import getpass
import json
import os
import secrets
import socket
from contextlib import suppress

import msgspec

from ..lake.access.lake import Lake
from ..lake.errors import MissingError
from ..lake.json_files import decode
from ..lake.layout import number_of, numbered
from ..lake.remedies import damaged
from .processes import machine, started, state

_BYTES = 512  # a lease is padded to one sector, so that a full disk can take its heartbeats in place
_BEING_TAKEN = "a process that is just taking the lease"  # of an empty file, see Disk.create
HELD: set[str] = set()  # tokens of the leases that this process holds
LEASE_PREFIX = "lease-"
_SUFFIX = ".json"


class LeaseHolder(msgspec.Struct, frozen=True):
    """The holder of a lease. Its JSON, in this order of keys, is the file of the lease.

    ``owner``: user@host, the purpose and the process.
    ``machine``: the scope of process numbers: host, boot and process namespace.
    ``pid``, ``started``: the process, and its start time: a later process may have the same number.
    ``token``: unique to this lease.
    ``heartbeats``: heartbeats so far.
    ``time_seconds``: the holder's clock at the last heartbeat, UTC.
    ``released``: whether the lease was released.
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
        """Whether the process is known to have ended, or failed to release the lease; False on other machines."""
        if self.machine != machine():
            return False
        if self.pid == os.getpid():
            return self.token not in HELD
        return state(self.pid, self.started) == "ended"

    @property
    def alive(self) -> bool:
        """Whether the process is known to be running; False on other machines."""
        if self.machine != machine():
            return False
        return self.token in HELD or state(self.pid, self.started) == "alive"


def lease_holder(lake: Lake, folder: str) -> LeaseHolder | None:
    """The holder of the lease on a folder; None if the lease is free, as far as its files show."""
    newest = newest_lease(lake, folder)
    return None if newest is None or newest[1].released or newest[1].died else newest[1]


def newest_lease(lake: Lake, folder: str) -> tuple[int, LeaseHolder] | None:
    """The highest number of a lease on ``folder``, and its holder; None if there is no lease."""
    for number in sorted(lease_numbers(lake, folder), reverse=True):
        with suppress(MissingError):  # its successor has just deleted it
            return number, read_lease(lake, folder, number)
    return None


def lease_numbers(lake: Lake, folder: str) -> list[int]:
    """Numbers of the leases on ``folder``, in any order."""
    return [number for name in lake.list(folder) if (number := lease_number(name)) >= 0]


def lease_number(name: str) -> int:
    """The number in the name of a lease file; -1 for any other name."""
    number = number_of(name.removeprefix(LEASE_PREFIX), _SUFFIX) if name.startswith(LEASE_PREFIX) else None
    return -1 if number is None else number


def lease_file(folder: str, number: int) -> str:
    """Path of the lease with that number, inside the lake."""
    return f"{folder}/{LEASE_PREFIX}{numbered(number, _SUFFIX)}"


def encode_lease(holder: LeaseHolder) -> bytes:
    """The content of a lease file."""
    return json.dumps(msgspec.to_builtins(holder), allow_nan=False).encode().ljust(_BYTES)


def read_lease(lake: Lake, folder: str, number: int) -> LeaseHolder:
    """The holder that a lease file names.

    Raises MissingError, DamagedError: there is no such file, or it is not readable.
    """
    path = lease_file(folder, number)
    if lake.local and os.path.isdir(lake.uri(path)):
        raise damaged(path, "is a folder")
    data = lake.read_bytes(path)
    if not data:
        return LeaseHolder(_BEING_TAKEN, "", 0, "", "", -1, 0.0)
    return decode(LeaseHolder, data, path, versioned=False)


def author() -> str:
    """The current user and host: user@host."""
    try:
        user = getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container may run under a number without a name
        user = str(os.getuid()) if hasattr(os, "getuid") else "unknown"  # Windows has no numbers
    return f"{user}@{socket.gethostname()}"
