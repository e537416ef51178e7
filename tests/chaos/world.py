"""What cases of one process share: a folder, commands that are there at once, an object store."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, TypeVar

from chaos.mounts import small_disk

__all__ = ["World"]

T = TypeVar("T")


class World:
    """What is made once and used by many cases.

    Attributes
    ----------
    folder : Path
        Everything is below it.
    counts : Counter
        What the case under way has done.
    small_disk : Path, optional
        A file system of a few megabytes; None where this process may not mount one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self._made: dict[str, Any] = {}
        self._open = ExitStack()
        self.small_disk: Path | None = None

    def __enter__(self) -> World:
        self.small_disk = small_disk(self.folder / "small")  # before any process is started, all see it then
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def once(self, name: str, make: Callable[[], T | AbstractContextManager[T]]) -> T:
        """What ``make`` returned the first time, or what its ``with`` block has."""
        if name not in self._made:
            made = make()
            self._made[name] = self._open.enter_context(made) if isinstance(made, AbstractContextManager) else made
        found: T = self._made[name]
        return found

    def fresh_folder(self, name: str = "case") -> Path:
        """An empty folder; what it held before is gone."""
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder
