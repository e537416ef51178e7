"""Commands without pandas: its import takes longer than many of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["without_pandas"]


class _NoPandas:
    """Finds no pandas; other finders are not asked for it. A base class would import importlib.resources."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def without_pandas() -> None:
    """Let pyarrow work in this process as if pandas were not installed.

    At its first conversions, pyarrow imports pandas if it can, and it does not try again. Here these conversions are
    made while pandas cannot be imported. Later imports of pandas succeed, but pyarrow does not know its missing values:
    this is for processes of one command that never uses data frames. Without effect if pandas is imported already.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0]).to_numpy()  # there, and back: each direction looks for pandas
    finally:
        sys.meta_path.remove(finder)
