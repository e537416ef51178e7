"""The one place that spells numba options.

``kernel`` lets the compiler vectorise a row's own loop (``reassoc``, ``contract``, ``arcp``, ``nsz``) and keeps NaN and
infinity meaningful. ``exact`` allows no reordering: for arithmetic whose order is the point.

Whatever a kernel calls is compiled into it. Otherwise a function that several kernels share exists in several compiled
copies that may round differently, and which of them runs depends on what was compiled or loaded from the cache first.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numba.core.cgutils
import numba.extending

__all__ = ["cgutils", "exact", "intrinsic", "kernel"]

Jitted = Callable[..., Any]


# numba asks only whether the file of a function changed; but kernels compile in what they call from other files
_SOURCES = tuple(
    (file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(Path(__file__).parent.glob("*.py"))
)


def _decorator(**options: Any) -> Callable[[Jitted], Jitted]:
    def decorate(function: Jitted) -> Jitted:
        jitted: Any = numba.njit(nogil=True, cache=True, error_model="numpy", forceinline=True, **options)(function)
        jitted._cache._cache_file._source_stamp = _SOURCES
        checked: Jitted = jitted
        return checked

    return decorate


kernel = _decorator(fastmath={"reassoc", "contract", "arcp", "nsz"})
exact = _decorator(fastmath={"contract"})
cgutils: Any = numba.core.cgutils
intrinsic: Callable[[Jitted], Jitted] = numba.extending.intrinsic
