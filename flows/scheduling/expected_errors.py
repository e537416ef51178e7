"""Which errors are told in one line, and which are bugs that show their traceback."""

from __future__ import annotations

from ranklake.storage import LakeError

from ..common.extras import MissingExtraError
from ..engines.protocols import EngineError
from ..sources.base import SourceError

__all__ = ["expected"]


def expected(error: Exception) -> bool:
    """Whether an error was put into words for a person; any other is our bug and shows its traceback."""
    words = EngineError | LakeError | MissingExtraError | SourceError | ValueError | ArithmeticError | OSError
    return isinstance(error, words)
