"""numba's cache of compiled functions, in :mod:`.cache_folder`: one file for each function and signature.

numba's own cache has an index for each function. Two processes that compile different signatures of one function at
the same time can lose an entry of it, or load the one's code for the other. Files that are named by their content's key
need no index. The folder's name holds all that numba compares otherwise: sources, versions and processor.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from . import cache_folder

__all__ = ["KernelCache"]


class KernelCache(_Cache):
    """The compiled signatures of one function, as numba's dispatcher asks for them."""

    def __init__(self, function: Callable[..., Any], kind: str = "") -> None:
        if function.__closure__ is not None:
            raise TypeError(f"{function.__qualname__}: a kernel must not depend on variables of another function")
        self._name = f"{kind}{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self._enabled = True

    @property
    def cache_path(self) -> str | None:
        folder = cache_folder.folders()[1]
        return None if folder is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled signature, or None."""
        target_context.refresh()  # numba's registries must be complete before code is linked
        data = cache_folder.read(self._file(sig)) if self._enabled else None
        return None if data is None else CompileResult._rebuild(target_context, *pickle.loads(data))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled signature."""
        if self._enabled and not data.library.has_dynamic_globals:  # addresses of this process are of no use elsewhere
            cache_folder.write(self._file(sig), dumps(data._reduce()))

    def _file(self, signature: Any) -> str:
        arguments = "\0".join(str(kind) for kind in normalize_signature(signature)[0])
        return f"{self._name}-{blake2b(arguments.encode(), digest_size=8).hexdigest()}.kernel"

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        """Nothing: what is kept of this release is never stale."""
