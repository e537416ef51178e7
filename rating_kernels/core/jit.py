"""Decorators with all numba options of this package.

``kernel`` lets the compiler vectorise a row's own loop (``reassoc``, ``contract``, ``arcp``, ``nsz``) and respects NaN
and infinity. ``exact`` forbids reordering: for arithmetic whose order matters. ``inner_strict`` forbids the fusion of
products and sums, too: for arithmetic that must have the bits of another function.

All functions that a kernel calls are inlined. Otherwise a function shared by several kernels would have several
compiled copies that may round differently, and the copy that runs would depend on the order of compilation or loading.

``inner_kernel`` and ``inner_exact`` are for functions that only kernels call. They have no wrapper that converts Python
objects, which saves up to a fifth of the compilation time of a system. A call from Python, for example from a test,
compiles the function again.

For numba the literal ``0`` and a variable have different types: a kernel that is called with both is compiled twice.
Callers therefore pass ``np.int64(0)``. Arithmetic on whole arrays takes seconds to compile, so kernels use loops.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numba
import numba.core.cgutils
import numba.extending
from numba.core.registry import CPUDispatcher

from .kernel_cache import KernelCache

__all__ = ["cgutils", "exact", "inner_exact", "inner_kernel", "inner_strict", "intrinsic", "kernel"]

Jitted = Callable[..., Any]


class _Inner(CPUDispatcher):
    """A function without a wrapper for calls from Python."""

    def __call__(self, *arguments: Any) -> Any:
        return self._outer(*arguments)

    @cached_property
    def _outer(self) -> Any:
        """The same function with a wrapper."""
        return _jitted(self.py_func, KernelCache(self.py_func), {"fastmath": self.targetoptions["fastmath"]})


def _jitted(function: Jitted, cache: KernelCache, options: dict[str, Any]) -> Any:
    # without the wrapper for callers in C, which is not used, compilation takes a seventh less
    options = options | {"nogil": True, "error_model": "numpy", "forceinline": True, "no_cfunc_wrapper": True}
    jitted: Any = numba.njit(**options)(function)
    jitted._cache = cache
    return jitted


def _decorator(**options: Any) -> Callable[[Jitted], Jitted]:
    def decorate(function: Jitted) -> Jitted:
        checked: Jitted = _jitted(function, KernelCache(function), options)
        return checked

    return decorate


def _inner_decorator(**options: Any) -> Callable[[Jitted], Jitted]:
    def decorate(function: Jitted) -> Jitted:
        jitted = _jitted(function, KernelCache(function, "inner."), options | {"no_cpython_wrapper": True})
        jitted.__class__ = _Inner
        checked: Jitted = jitted
        return checked

    return decorate


_REORDERED, _IN_ORDER = {"reassoc", "contract", "arcp", "nsz"}, {"contract"}
kernel, inner_kernel = _decorator(fastmath=_REORDERED), _inner_decorator(fastmath=_REORDERED)
exact, inner_exact = _decorator(fastmath=_IN_ORDER), _inner_decorator(fastmath=_IN_ORDER)
inner_strict = _inner_decorator(fastmath=False)
cgutils: Any = numba.core.cgutils
intrinsic: Callable[[Jitted], Jitted] = numba.extending.intrinsic
