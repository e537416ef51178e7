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

A decorator only declares a function: numba is imported when the first kernel is called (:mod:`.dispatchers`). Commands
that compute nothing save this import, a quarter of a second.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial, update_wrapper
from typing import Any


class Kernel:
    """A declared function. A call compiles it, or loads it from the cache, if the types of its arguments are new.

    ``py_func``: the function in Python.
    """

    inner = False

    def __init__(self, function: Callable[..., Any], fastmath: set[str] | bool) -> None:
        if function.__closure__ is not None:
            raise TypeError(f"{function.__qualname__}: a kernel must not depend on variables of another function")
        update_wrapper(self, function)
        self.py_func, self.fastmath = function, fastmath

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """The dispatcher of numba. If two threads create one at the same time, both get the first."""
        from .dispatchers import dispatcher

        return self.__dict__.setdefault("dispatcher", dispatcher(self.py_func, self.fastmath, self.inner))

    @property
    def _numba_type_(self) -> Any:
        """The type that numba infers where another kernel calls this one."""
        return self.dispatcher._numba_type_


class _Inner(Kernel):
    """A kernel without a wrapper for calls from Python."""

    inner = True

    def __call__(self, *arguments: Any) -> Any:
        return self._outer(*arguments)

    @cached_property
    def _outer(self) -> Kernel:
        """The same kernel with a wrapper."""
        return Kernel(self.py_func, self.fastmath)


class _Intrinsic:
    """A declared function that generates instructions, called by kernels only; see ``numba.extending.intrinsic``."""

    def __init__(self, define: Callable[..., Any]) -> None:
        update_wrapper(self, define)
        self._define = define

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self._define.__qualname__} generates instructions: only kernels can call it")

    @cached_property
    def _numba_type_(self) -> Any:
        """The type that numba infers where a kernel calls this function."""
        from .dispatchers import intrinsic_type

        return intrinsic_type(self._define)


_REORDERED, _IN_ORDER = {"reassoc", "contract", "arcp", "nsz"}, {"contract"}
kernel, inner_kernel = partial(Kernel, fastmath=_REORDERED), partial(_Inner, fastmath=_REORDERED)
exact, inner_exact = partial(Kernel, fastmath=_IN_ORDER), partial(_Inner, fastmath=_IN_ORDER)
inner_strict = partial(_Inner, fastmath=False)
intrinsic = _Intrinsic
