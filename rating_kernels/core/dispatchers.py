"""numba's side of the declarations in :mod:`.jit`, imported inside of functions only, by the first call of a kernel.

Compiled functions are kept in :mod:`.cache_folder`, one file for each function and signature. numba's own cache has an
index for each function: if two processes compile different signatures of one function at the same time, an index entry
can be lost or refer to the wrong code. Files that are named after function and signature need no index. The name of the
folder covers the other parts of the key: sources, versions and processor.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import numba
from numba.core import event
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.extending import intrinsic

from . import cache_folder

Callback = Callable[[Any], None]  # takes the function in Python


def dispatcher(function: Callable[..., Any], fastmath: set[str] | bool, inner: bool) -> Any:
    """A dispatcher with the options of this package and the cache of compiled kernels.

    ``inner``: whether only kernels call the function: it gets no wrapper for calls from Python.
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


class KernelCache(_Cache):
    """The compiled signatures of one function, with the interface of numba's dispatcher."""

    def __init__(self, function: Callable[..., Any], kind: str = "") -> None:
        self._name = f"{kind}{function.__module__.rpartition('.')[2]}.{function.__qualname__}"

    @property
    def cache_path(self) -> str | None:
        folder = cache_folder.folders()[1]
        return None if folder is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled signature, or None.

        numba's own cache completes the registries of types and functions first, which takes a quarter of a second.
        Linking needs no registry, only the symbols of numba's runtime; a compilation completes the registries itself.
        """
        rtsys.initialize(target_context)
        data = cache_folder.read(self._file(sig))
        return None if data is None else CompileResult._rebuild(target_context, *pickle.loads(data))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write a compiled signature."""
        if not data.library.has_dynamic_globals:  # addresses are valid in this process only
            cache_folder.write(self._file(sig), dumps(data._reduce()))

    def _file(self, signature: Any) -> str:
        arguments = "\0".join(str(kind) for kind in normalize_signature(signature)[0])
        return f"{self._name}-{blake2b(arguments.encode(), digest_size=8).hexdigest()}.kernel"

    def enable(self) -> None:
        """No effect: kernels are always cached."""

    def disable(self) -> None:
        raise NotImplementedError("kernels are always cached")

    def flush(self) -> None:
        """No effect: files of this release are never stale."""


def _ignore(function: Any) -> None:
    pass


class _Listener(event.Listener):
    def __init__(self, on_start: Callback, on_end: Callback) -> None:
        self._on_start, self._on_end = on_start, on_end

    def on_start(self, event: Any) -> None:
        self._on_start(event.data["dispatcher"].py_func)

    def on_end(self, event: Any) -> None:
        self._on_end(event.data["dispatcher"].py_func)


@contextmanager
def notify(on_start: Callback = _ignore, on_end: Callback = _ignore) -> Iterator[None]:
    """Call functions when the compilation of a function begins and ends inside the block."""
    with event.install_listener("numba:compile", _Listener(on_start, on_end)):
        yield
