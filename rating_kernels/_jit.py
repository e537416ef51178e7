"""The one place that spells numba options.

``kernel`` lets the compiler vectorise a row's own loop (``reassoc``, ``contract``, ``arcp``, ``nsz``) and keeps NaN and
infinity meaningful. ``exact`` allows no reordering: for arithmetic whose order is the point.

Whatever a kernel calls is compiled into it. Otherwise a function that several kernels share exists in several compiled
copies that may round differently, and which of them runs depends on what was compiled or loaded from the cache first.

To numba the literal ``0`` and a variable are arguments of different types: a kernel that is called with both is
compiled twice. Callers therefore pass ``np.int64(0)``. Arithmetic on whole arrays takes seconds to compile: kernels
have loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numba.core.cgutils
import numba.extending

from .kernel_cache import KernelCache

__all__ = ["cgutils", "exact", "intrinsic", "kernel"]

Jitted = Callable[..., Any]


def _decorator(**options: Any) -> Callable[[Jitted], Jitted]:
    def decorate(function: Jitted) -> Jitted:
        # without the wrapper for callers in C, which nobody uses, compilation takes a seventh less
        options.update(nogil=True, error_model="numpy", forceinline=True, no_cfunc_wrapper=True)
        jitted: Any = numba.njit(**options)(function)
        jitted._cache = KernelCache(function)
        checked: Jitted = jitted
        return checked

    return decorate


kernel = _decorator(fastmath={"reassoc", "contract", "arcp", "nsz"})
exact = _decorator(fastmath={"contract"})
cgutils: Any = numba.core.cgutils
intrinsic: Callable[[Jitted], Jitted] = numba.extending.intrinsic
