"""What the Delta library needs of a lake, versions in the log of a table, and reasons of the library's errors."""

from __future__ import annotations

import os
import re
import time

import numpy as np

from ranklake.storage import Lake, LakeError
from ranklake.storage.lake.errors import UnreachableError
from ranklake.storage.leases.lease import Lease

_RETRY_SECONDS = 60  # limit of one request to a store; the default of the library is 180
_REFUSED = set("#?%[]^|\\") | {chr(code) for code in range(32)}  # the library fails or loses files below such names

_COLOUR = re.compile("\x1b\\[[0-9;]*m")
# Texts of the library's errors for store faults; unreadable files raise the same class.
_STORE_FAULT = re.compile(
    r"\bGeneric (?!LocalFileSystem)\w+ error\b|\blacked (valid authentication|the necessary priv)"
)


def check_lake(lake: Lake) -> None:
    """Refuse a lake whose address the Delta library cannot write to.

    Raises LakeError: the address has unsupported characters; the message names them.
    """
    if odd := sorted(_REFUSED.intersection(lake.uri(""))):
        named = " or ".join(map(repr, odd))
        raise LakeError(f"{lake.url}: Delta tables cannot be written where a name has {named}; move the lake")


def check_clock(folder: str) -> None:
    """Raise :class:`LakeError` if the clock is before 1970, where the library panics."""
    if (now := time.time()) < 0:
        day = np.datetime64(int(now), "s").astype("M8[D]")
        rule = f"the clock of this machine says {day}, and Delta tables have no times before 1970"
        raise LakeError(f"{folder}: cannot write: {rule}; set the clock and publish again", path=folder)


def store_options(lake: Lake, uri: str) -> dict[str, str]:
    """Options of the Delta library that it does not read from the environment."""
    if not lake.hard_links:  # the library commits by hard links; for one writer a rename is safe
        return {"allow_unsafe_rename": "true"}
    if "://" not in uri:
        return {}
    options = {"retry_timeout": f"{_RETRY_SECONDS}s"}
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    if not uri.startswith("s3://") or not endpoint:
        return options
    return options | {"endpoint_url": endpoint, "allow_http": str(endpoint.startswith("http://")).lower()}


def newest_version(lake: Lake, folder: str) -> int:
    """The newest version in the log of a table, -1 without one; a failed commit may leave other files."""
    return max(map(_version, lake.list(f"{folder}/_delta_log")), default=-1)


def roll_back(lake: Lake, folder: str, version: int, lease: Lease) -> bool:
    """Remove the versions of a table after ``version``; returns whether there were any. All are removed after -1."""
    log = f"{folder}/_delta_log"
    newer = [name for name in lake.list(log) if _version(name) > version]
    for name in [*(["_last_checkpoint"] if newer else []), *reversed(newer)]:
        lease.lake.delete(f"{log}/{name}")
    return bool(newer)


def _version(name: str) -> int:
    digits = name.partition(".")[0]
    return int(digits) if digits.isdigit() else -1


def check_store(error: Exception, folder: str) -> None:
    """Raise ``UnreachableError`` for an error of the store, not of a file."""
    causes = _causes(error)
    if not _STORE_FAULT.search(causes[0]):
        return
    reason = ": ".join(dict.fromkeys([causes[0], causes[-1]]))[:300]
    raise UnreachableError(
        f"{folder}: the store does not work: {reason}; the table is probably not damaged: "
        "correct the connection, the endpoint or the credentials, and run again",
        path=folder,
    ) from error


def describe(error: Exception) -> str:
    """The message of the library in one line: its first line and the causes below."""
    return ": ".join(_causes(error))


def _causes(error: Exception) -> list[str]:
    first, *more = _COLOUR.sub("", str(error)).strip().splitlines() or [type(error).__name__]
    return [first, *(line.strip("↳ ") for line in more if line.lstrip().startswith("↳"))]
