"""What a process has written to a disk that a power cut could still undo, and its flush in the right order.

A power cut undoes what was not flushed: the content of files, and names in folders (new ones, renames, deletions). A
journal keeps names in the order in which they were changed, but it may keep the new name of a file without its content.
So every change of a lake's files follows three rules, all of them in :class:`ranklake.storage.lake.access.disk.Disk`:

1. A file that replaces another, or is created only once, is flushed before it gets its name.
2. Any other new file is flushed, with its folder, before the next commit: a commit first flushes all that its process
   has written. Many files are then flushed at a time, which an ingest of thousands of them needs.
3. A commit is flushed itself, and its folder, before it returns. The first flush of a folder also flushes the folders
   above it, up to the one that names the lake: they may be new.

A command ends with the release of its lease. The rest is flushed before: deletions, and files that no commit names.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import repeat
from threading import Lock

_AT_ONCE = 16  # flushes under way at the same time: file systems join them
_FEW = 3  # not worth threads
_LOCK = Lock()  # one for all: a lake can be pickled


class Unflushed:
    """The unflushed files and folders below one folder, by full path; of one process, any thread.

    ``root``: the folder of the lake.
    ``flush``: flushes a file, or with True the names in a folder.
    """

    def __init__(self, root: str, flush: Callable[[str, bool], None]) -> None:
        self._root, self._flush = root, flush
        self._files: dict[str, None] = {}
        self._folders: dict[str, None] = {}
        self._new: set[str] = set()  # folders whose names the next flush flushes
        self._named: set[str] = set()  # folders whose names are flushed

    def add(self, full: str, *, content: bool) -> None:
        """Note a name that was given or deleted, and whether its content is unflushed, too."""
        with _LOCK:
            if content:
                self._files[full] = None
            folder = os.path.dirname(full)
            self._folders[folder] = None
            while len(folder) >= len(self._root) and not (folder in self._named or folder in self._new):
                self._new.add(folder)
                folder = os.path.dirname(folder)
                self._folders[folder] = None

    def forget(self, full: str) -> None:
        """Forget a file or folder that is deleted, and all below it."""
        with _LOCK:
            for known in (self._files, self._folders):
                for path in [path for path in known if f"{path}/".startswith(f"{full}/")]:
                    del known[path]
            self.forget_folders()

    def forget_folders(self) -> None:
        """Flush the names of all folders again: some may be deleted, and made again."""
        self._new, self._named = set(), set()

    def flush(self) -> None:
        """Flush all that was noted, files first.

        Raises FileNotFoundError: a file is gone that was not forgotten.
        """
        with _LOCK:
            files, folders, new = self._files, self._folders, self._new
            self._files, self._folders, self._new = {}, {}, set()
        try:
            self.flush_files(list(files))
            for folder in folders:  # in the order of their first changes, as deletions depend on each other
                self._flush_folder(folder)
        except BaseException:
            with _LOCK:
                self._files, self._folders = files | self._files, folders | self._folders
            raise
        with _LOCK:
            self._named |= new

    def _flush_folder(self, full: str) -> None:
        with suppress(FileNotFoundError):  # deleted as a whole meanwhile, with all its names
            if len(full) >= len(self._root) or os.access(full, os.R_OK):  # the one above may be another user's
                self._flush(full, True)

    def flush_files(self, paths: list[str]) -> None:
        """Flush the content of files, many at a time."""
        if len(paths) <= _FEW:
            for path in paths:
                self._flush(path, False)
            return
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="ranklake-flush") as pool:
            list(pool.map(self._flush, paths, repeat(False)))
