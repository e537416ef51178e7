"""numba's side of the declarations in :mod:`.jit`, imported by the first call of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from .kernel_cache import KernelCache

__all__ = ["dispatcher", "intrinsic_type"]


def dispatcher(function: Callable[..., Any], fastmath: set[str] | bool, inner: bool) -> Any:
    """A dispatcher with the options of this package and the cache of compiled kernels.

    Parameters
    ----------
    inner : bool
        Whether only kernels call the function: it gets no wrapper for calls from Python.
    """
    # without the wrapper for callers in C, which is not used, compilation takes a seventh less
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": True, "no_cfunc_wrapper": True}
    if inner:
        options["no_cpython_wrapper"] = True
    jitted: Any = numba.njit(fastmath=fastmath, **options)(function)
    jitted._cache = KernelCache(function, "inner." if inner else "")
    return jitted


def intrinsic_type(define: Callable[..., Any]) -> Any:
    """The type of an intrinsic, for the compiler."""
    context = cpu_target.typing_context
    declared = intrinsic(define)
    context.refresh()
    return context.resolve_value_type(declared)
