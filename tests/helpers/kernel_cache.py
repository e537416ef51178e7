"""Empty cache folders of kernels, below the folder of a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numba
import pytest

from ranklake.rating_kernels.core import cache_folder


@contextmanager
def no_kernels(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[None]:
    """A block without NUMBA_CACHE_DIR, and with home and temporary folder below ``folder``."""

    def forget() -> None:
        for remembered in (cache_folder._folders, cache_folder._warn_once, cache_folder._note_use):
            remembered.cache_clear()

    numba.config.reload_config()  # now, after tests with another environment; otherwise by the next compilation
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "home" / ".cache"))
    monkeypatch.setattr(cache_folder.tempfile, "gettempdir", lambda: str(folder / "tmp"))
    (folder / "tmp").mkdir(exist_ok=True)
    forget()
    yield
    forget()
