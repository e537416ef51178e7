"""Resources that the cases of one process share: a folder, a server that starts commands, an object store."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, TypeVar

from chaos.mounts import small_disk

T = TypeVar("T")


class World:
    """Resources that are made once and used by many cases, below one folder, and the counts of the running case.

    ``small_disk``: a file system of a few megabytes; None if this process may not mount one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self._made: dict[str, Any] = {}
        self._open = ExitStack()
        self.small_disk: Path | None = None

    def __enter__(self) -> World:
        self.small_disk = small_disk(self.folder / "small")  # before any child process, so that all children see it
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def once(self, name: str, make: Callable[[], T | AbstractContextManager[T]]) -> T:
        """The value that ``make`` returned the first time, or the value of its ``with`` block."""
        if name not in self._made:
            made = make()
            self._made[name] = self._open.enter_context(made) if isinstance(made, AbstractContextManager) else made
        value: T = self._made[name]
        return value

    def fresh_folder(self, name: str = "case") -> Path:
        """An empty folder; its previous content is deleted."""
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder
