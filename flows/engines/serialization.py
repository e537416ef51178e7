"""Messages in pieces: many small arrays go as one, large ones as they lie in memory.

What carries messages takes its time for every piece, and copies none; pickling copies, and takes its time for none.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Piece", "Pieces", "enclose", "load", "unload"]

# Bytes, or arrays of them: of a memory view that the garbage collector takes apart, buffers are read after their end
Piece = Any
Pieces = Sequence[Piece]

LARGE = 1 << 18  # bytes of an array from which copying it costs more than a piece of its own


def load(message: Any) -> Pieces:
    """The pieces of a message; all but the first are views of its large arrays."""
    large: list[npt.NDArray[np.uint8]] = []

    def goes_with_the_rest(array: pickle.PickleBuffer) -> bool:
        raw = array.raw()
        if raw.nbytes < LARGE:
            return True
        large.append(np.frombuffer(raw, dtype=np.uint8))
        return False

    return [pickle.dumps(message, protocol=5, buffer_callback=goes_with_the_rest), *large]


def enclose(pieces: Pieces) -> list[pickle.PickleBuffer]:
    """A loaded message as a part of another, unloaded in its turn."""
    return [pickle.PickleBuffer(piece) for piece in pieces]


def unload(pieces: Pieces) -> Any:
    """What was loaded; its large arrays are views of the pieces."""
    return pickle.loads(pieces[0], buffers=pieces[1:])
