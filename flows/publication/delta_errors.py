"""The texts of the Delta library's errors: the reason in one line, and whether the store failed."""

from __future__ import annotations

import re

from ranklake.storage.lake.errors import UnreachableError

__all__ = ["check_store", "describe"]

_COLOUR = re.compile("\x1b\\[[0-9;]*m")
# Texts of the library's errors for store faults; unreadable files raise the same class.
_STORE_FAULT = re.compile(
    r"\bGeneric (?!LocalFileSystem)\w+ error\b|\blacked (valid authentication|the necessary priv)"
)


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
