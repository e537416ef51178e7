"""Errors that are shown as one line; all others are bugs and have a traceback."""

from __future__ import annotations

from ranklake.storage import LakeError

from ..common.extras import MissingExtraError
from ..databases.errors import DatabaseError
from ..engines.protocols import EngineError
from ..sources.base import SourceError


def expected(error: Exception) -> bool:
    """Whether an error has a message for users; any other error is a bug."""
    words = EngineError | LakeError | MissingExtraError | SourceError | ValueError | ArithmeticError | OSError
    return isinstance(error, words | DatabaseError)
