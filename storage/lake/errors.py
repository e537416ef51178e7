"""What can be wrong with a lake, in words that name the value, the place and the way out."""

from __future__ import annotations

__all__ = [
    "AddressError",
    "ConflictError",
    "DamagedError",
    "FencedError",
    "FormatError",
    "LakeError",
    "LeaseHeldError",
    "MissingError",
    "NameRefusedError",
    "NoSpaceError",
    "UnreachableError",
]


class LakeError(Exception):
    """Something on disk is not as it must be.

    Attributes
    ----------
    path : str
        The place, inside the lake; empty when the lake itself is meant.
    """

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class AddressError(LakeError):
    """The address of a lake that cannot be one.

    Attributes
    ----------
    exit_code : int
        What a command exits with: wrong use.
    """

    exit_code = 2


class MissingError(LakeError):
    """A file, data set or run that was asked for is not there."""


class DamagedError(LakeError):
    """A file is there but does not hold what it must."""


class UnreachableError(LakeError):
    """A store does not answer, or refuses access: what is in it is not known to be damaged."""


class NoSpaceError(LakeError):
    """The disk has no space, no inode or no quota left for a file."""


class LeaseHeldError(LakeError):
    """Somebody else is writing there.

    Attributes
    ----------
    holder : str
        Who, and at what.
    age_seconds : float
        Since their last heartbeat.
    """

    def __init__(self, message: str, *, path: str = "", holder: str = "", age_seconds: float = 0.0) -> None:
        super().__init__(message, path=path)
        self.holder, self.age_seconds = holder, age_seconds


class ConflictError(LakeError):
    """A file is no longer what its writer read; nothing was changed."""


class FencedError(LakeError):
    """A change was refused because its writer has lost the lease; nothing was changed."""


class NameRefusedError(LakeError):
    """A new data set, run or search must not be called that.

    Attributes
    ----------
    exit_code : int
        What a command exits with: wrong use.
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
