"""What can be wrong with a lake, in words that name the value, the place and the way out."""

from __future__ import annotations

__all__ = ["DamagedError", "FormatError", "LakeError", "MissingError"]


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


class MissingError(LakeError):
    """A file, data set or run that was asked for is not there."""


class DamagedError(LakeError):
    """A file is there but does not hold what it must."""


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
