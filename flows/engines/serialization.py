"""Messages as frames: small arrays are pickled together, each large array is a frame of its own.

Each frame has a cost in the transport, but is not copied; pickled arrays are copied, but have no cost each.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

# Bytes or arrays of bytes. No memory views: the garbage collector may release one while it is still read
Frame = Any
Frames = Sequence[Frame]

LARGE = 1 << 18  # bytes; the copy of a larger array costs more than a frame


def serialize(message: Any) -> Frames:
    """Serialise a message into frames; all but the first are views of its large arrays."""
    large: list[npt.NDArray[np.uint8]] = []

    def goes_with_the_rest(array: pickle.PickleBuffer) -> bool:
        raw = array.raw()
        if raw.nbytes < LARGE:
            return True
        large.append(np.frombuffer(raw, dtype=np.uint8))
        return False

    return [pickle.dumps(message, protocol=5, buffer_callback=goes_with_the_rest), *large]


def embed(frames: Frames) -> list[pickle.PickleBuffer]:
    """A serialised message as part of another one, to be deserialised separately."""
    return [pickle.PickleBuffer(piece) for piece in frames]


def deserialize(frames: Frames) -> Any:
    """Deserialise a message; its large arrays are views of the frames."""
    return pickle.loads(frames[0], buffers=frames[1:])
