"""The memory of commands that write many tables."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

__all__ = ["keep_freed_memory"]

_VARIABLE = "ARROW_DEFAULT_MEMORY_POOL"
_KEPT_MS = 10_000  # the default, a second, is shorter than the time between two snapshots of a slow run


def keep_freed_memory() -> None:
    """Let pyarrow use jemalloc in this process, where its build has it, and keep freed memory for some seconds.

    The default, mimalloc, gives memory back to the system when a table was written, and the system clears it again for
    the next table. Called before the first import of pyarrow, on Linux, this also holds for the memory that Arrow
    allocates without a pool given to it, as in the compression of snapshots. The environment variable
    ``ARROW_DEFAULT_MEMORY_POOL`` takes precedence.
    """
    if _VARIABLE in os.environ:
        return
    if sys.platform == "linux":  # other builds may lack jemalloc, and Arrow would print a warning
        os.environ[_VARIABLE] = "jemalloc"  # Arrow reads it when it is loaded
    try:
        import pyarrow as pa
    finally:
        os.environ.pop(_VARIABLE, None)  # not for child processes

    with suppress(NotImplementedError):  # Windows
        pa.set_memory_pool(pa.jemalloc_memory_pool())
        pa.jemalloc_set_decay_ms(_KEPT_MS)
