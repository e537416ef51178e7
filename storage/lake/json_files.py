"""JSON files of a lake: decoded into typed values, checked for their format, with the errors of damaged files."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from .remedies import damaged
from .schemas import check_format

T = TypeVar("T")

_UNDECODED = (msgspec.MsgspecError, ValueError, RecursionError)


class _Header(msgspec.Struct):
    """The part of a file that is read first: its other keys depend on it."""

    format: object = None


def decode(kind: type[T], data: bytes, path: str, *, versioned: bool = True, newest: int = 0) -> T:
    """The content of a JSON file as a value of type ``kind``.

    ``path``: of the file, inside the lake, for messages.
    ``versioned``: whether the file has a key ``format``. Leases have none.
    ``newest``: the newest format that the caller reads, if that is not ``schemas.FORMAT_VERSION`` alone.
    Raises FormatError: the file is of another format.
    Raises DamagedError: the file is torn, a key is missing or of another type, or the type refuses its values.
    """
    try:
        if versioned:
            check_format(msgspec.json.decode(data, type=_Header).format, path, newest=newest)
        return msgspec.json.decode(data, type=kind)
    except _UNDECODED as error:
        raise damaged(path, f"not readable ({error})") from error
