"""The memory of commands that write many tables."""

from __future__ import annotations

import os
from contextlib import suppress

__all__ = ["keep_freed_memory"]


def keep_freed_memory() -> None:
    """Let pyarrow use jemalloc in this process, where its build has it.

    The default, mimalloc, gives memory back to the system when a table was written, and the system clears it again for
    the next table. The environment variable ``ARROW_DEFAULT_MEMORY_POOL`` takes precedence.
    """
    if "ARROW_DEFAULT_MEMORY_POOL" in os.environ:
        return
    import pyarrow as pa

    with suppress(NotImplementedError):  # Windows
        pa.set_memory_pool(pa.jemalloc_memory_pool())
