"""Messages as bytes: many small arrays go as one piece, large ones as they lie in memory.

What carries messages takes its time for every piece, and copies none; pickling copies, and takes its time for none.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

__all__ = ["Pieces", "enclose", "load", "unload"]

Pieces = list[bytes | memoryview]

LARGE = 1 << 18  # bytes of an array from which copying it costs more than a piece of its own


def load(message: Any) -> Pieces:
    """The pieces of a message; they are views of its large arrays."""
    large: list[memoryview] = []

    def lies_well(array: pickle.PickleBuffer) -> bool:
        raw = array.raw()
        if raw.nbytes < LARGE:
            return True
        large.append(raw)
        return False

    return [pickle.dumps(message, protocol=5, buffer_callback=lies_well), *large]


def unload(pieces: Sequence[bytes | memoryview]) -> Any:
    """What was loaded; its large arrays are views of the pieces."""
    return pickle.loads(pieces[0], buffers=pieces[1:])


def enclose(pieces: Pieces) -> list[pickle.PickleBuffer]:
    """A loaded message as part of another."""
    return [pickle.PickleBuffer(piece) for piece in pieces]
