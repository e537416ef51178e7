"""Errors of a lake. Their messages name the value, the place and the remedy."""

from __future__ import annotations


class LakeError(Exception):
    """A file or folder of a lake is not as it must be.

    Attributes
    ----------
    path : str
        The path inside the lake; empty for the lake itself.
    """

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class AddressError(LakeError):
    """An address that cannot be the address of a lake.

    ``exit_code``: exit code of a command: wrong use.
    """

    exit_code = 2


class MissingError(LakeError):
    """A file, data set or run does not exist."""


class DamagedError(LakeError):
    """A file exists, but its content is not valid."""


class UnreachableError(LakeError):
    """A store does not answer or refuses access. Nothing is known about its content."""


class NoSpaceError(LakeError):
    """The disk has no space, no inode or no quota left for a file."""


class LeaseHeldError(LakeError):
    """Another process holds the lease.

    ``holder``: the user, host, purpose and process.
    ``age_seconds``: time since the last heartbeat.
    """

    def __init__(self, message: str, *, path: str = "", holder: str = "", age_seconds: float = 0.0) -> None:
        super().__init__(message, path=path)
        self.holder, self.age_seconds = holder, age_seconds


class ConflictError(LakeError):
    """A file has changed since its writer read it; nothing was changed."""


class FencedError(LakeError):
    """A change was refused because its writer lost the lease; nothing was changed."""


class NameRefusedError(LakeError):
    """A name that a new data set, run or search must not have.

    ``exit_code``: exit code of a command: wrong use.
    """

    exit_code = 2


class FormatError(LakeError):
    """A file is of a format that this code does not read.

    Attributes
    ----------
    found : int
        The format version of the file.
    """

    def __init__(self, message: str, *, path: str = "", found: int = 0) -> None:
        super().__init__(message, path=path)
        self.found = found
