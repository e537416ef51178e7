"""The one place that spells numba options.

``kernel`` lets the compiler vectorise a row's own loop (``reassoc``, ``contract``, ``arcp``, ``nsz``) and keeps NaN and
infinity meaningful. ``exact`` allows no reordering: for arithmetic whose order is the point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numba.extending

__all__ = ["exact", "intrinsic", "kernel"]

Jitted = Callable[..., Any]


def _decorator(**options: Any) -> Callable[[Jitted], Jitted]:
    def decorate(function: Jitted) -> Jitted:
        jitted: Jitted = numba.njit(nogil=True, cache=True, error_model="numpy", **options)(function)
        return jitted

    return decorate


kernel = _decorator(fastmath={"reassoc", "contract", "arcp", "nsz"})
exact = _decorator(fastmath={"contract"})
intrinsic: Callable[[Jitted], Jitted] = numba.extending.intrinsic
