"""numba's cache of compiled functions, in :mod:`.cache_folder`: one file for each function and signature.

numba's own cache has an index for each function. If two processes compile different signatures of one function at the
same time, an index entry can be lost or refer to the wrong code. Files that are named after function and signature need
no index. The name of the folder covers the other parts of the key: sources, versions and processor.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from . import cache_folder

__all__ = ["KernelCache"]


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
