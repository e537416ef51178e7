"""Files on a disk of this machine: replaced in one step, created only once, flushed; with POSIX and with Windows.

What is flushed when: :mod:`ranklake.storage.lake.access.unflushed`.

File systems differ. FAT, exFAT, some network mounts and FUSE have no hard links. Windows cannot flush a folder, and
refuses to replace or remove a file that another program has open. A missing feature is replaced by another way if there
is one. The lost guarantee is logged when the first lease is taken, before any work, once per process and lake.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

import pyarrow as pa

from ..errors import FencedError
from ..layout import TEMPORARY_PREFIX
from .unflushed import Unflushed

T = TypeVar("T")

WINDOWS = os.name == "nt"
SHARING_SECONDS = 5.0  # retry limit for a file that another program has open, on Windows
_NOT_EMPTY = 145  # Windows: a folder whose last file still exists, because another program has it open
_PATH_LIMIT = 259  # characters, unless Windows was set up for more

# Errors of file systems without hard links (link(2), macOS, FUSE, Windows)
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EMLINK})
_NO_FLUSH = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
_NO_FOLDER_FLUSH = _NO_FLUSH | {errno.EACCES, errno.EPERM, errno.EBADF, errno.EISDIR}

_TEXTS = {
    "links": "this file system has no hard links; if a writer is killed while it takes the lease, the next writer "
    "waits for half a minute; if a publish is suspended while another process takes its lease over, run "
    "`ranklake publish --run RUN --afresh` after it has ended",
    "flush": "this file system cannot flush files to the disk; after a power cut run `ranklake verify`, and ingest "
    "again the data sets that it names",
    "unconditional": "the client of this store cannot replace a file on condition that it is unchanged; use --steal "
    "only when the process that holds the lease has ended, as it could overwrite later commits",
    "folders": "this file system cannot flush folders to the disk; after a power cut run `ranklake verify`, and ingest "
    "again if the newest contests are missing",
}
_LOGGED: set[tuple[str, str]] = set()

log = logging.getLogger("ranklake.lake")


class Disk:
    """The files of one lake, by their full path.

    ``url``: address of the lake, for messages.
    ``root``: its folder.
    ``hard_links``: whether the file system has hard links, as far as is known.
    ``unflushed``: the files and folders that are written and not flushed.
    """

    def __init__(self, url: str, root: str) -> None:
        self._url = url
        self.hard_links = True
        self.unflushed = Unflushed(root, self.flush)

    def replace(self, full: str, data: bytes | pa.Buffer, fence: str = "") -> None:
        """Create or replace a file in one step. Its folder must exist.

        The temporary file is in the folder ``fence``; without one, beside the file. It is flushed before the rename if
        it replaces a file; otherwise by the next commit.

        Raises FencedError: the folder ``fence`` is gone.
        """
        temporary = _temporary(fence or full.rpartition("/")[0])
        flushed = os.path.lexists(full)
        with _fenced(fence, full):
            try:
                self._write(temporary, data, flushed)
                self.retry(lambda: _name(os.replace, temporary, full))
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise
        self.unflushed.add(full, content=not flushed)

    def commit(self, files: Mapping[str, bytes | pa.Buffer], fence: str = "") -> None:
        """Create or replace files in their order as :meth:`replace`, after all that was written before, and flush them.

        The wait for the disk is as long for many files as for one.

        Raises FencedError: the folder ``fence`` is gone.
        Raises FileNotFoundError: the folder of a file does not exist, or a file written before is gone.
        """
        self.unflushed.flush()
        aside = {full: _temporary(fence or full.rpartition("/")[0]) for full in files}
        try:
            with _fenced(fence, next(iter(files))):
                for full, data in files.items():
                    self._write(aside[full], data, flushed=False)
                self.unflushed.flush_files(list(aside.values()))
                for full, temporary in aside.items():
                    self.retry(partial(_name, os.replace, temporary, full))
                    self.unflushed.add(full, content=False)
        except BaseException:
            for temporary in aside.values():
                with suppress(OSError):
                    os.unlink(temporary)
            raise
        self.unflushed.flush()

    def remove(self, full: str, fence: str) -> None:
        """Remove a file or a folder in one step: a rename into the folder ``fence``, where it is deleted.

        Raises FencedError: the folder ``fence`` is gone.
        Raises FileNotFoundError: there is no such file or folder.
        """
        taken = _temporary(fence)
        with _fenced(fence, full):
            self.retry(lambda: _name(os.rename, full, taken))
        self.note_removed(full)
        self.clear(taken)

    def note_removed(self, full: str) -> None:
        """Note that a file or a folder was removed: the next commit, or the end of the command, flushes that."""
        self.unflushed.forget(full)
        self.unflushed.add(full, content=False)

    def revoke(self, fence: str) -> None:
        """Rename a fence so that its writer cannot use it any more, in one step, and delete it with its files."""
        self.unflushed.forget(fence)
        gone = f"{fence}-{secrets.token_hex(8)}"
        with suppress(FileNotFoundError):
            self.retry(lambda: os.rename(fence, gone))
        self.clear(gone)

    def clear(self, full: str) -> None:
        """Delete a file, or a folder with its files, also while other processes delete the same."""
        while True:
            try:
                if os.path.isdir(full) and not os.path.islink(full):
                    self.retry(lambda: shutil.rmtree(full))
                else:
                    self.retry(lambda: os.unlink(full))
                return
            except OSError as error:
                if not os.path.lexists(full):
                    return
                # Another process deletes the same, or makes a file meanwhile; or a deletion was repeated, see _name.
                if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
                    raise

    def create(self, full: str, data: bytes, fence: str = "") -> bool:
        """Create a file with its content in one step, unless the file exists; returns whether it was created.

        Without hard links, the file is empty for a moment before it has its content. If the process is killed in that
        moment, the empty file stays. This does not happen on Windows. ``fence`` as for :meth:`replace`.
        """
        temporary = _temporary(fence or full.rpartition("/")[0])
        try:
            with _fenced(fence, full):
                self._write(temporary, data, flushed=True)
                self._name_once(temporary, full)
                self.unflushed.add(full, content=False)
        except FileExistsError:
            return False
        finally:
            with suppress(FileNotFoundError):
                self.retry(lambda: os.unlink(temporary))
        return True

    def overwrite(self, full: str, data: bytes) -> None:
        """Write over the beginning of an existing file. Within one sector no process reads half of it."""
        with open(full, "r+b") as file:
            file.write(data)

    def make_folders(self, full: str) -> None:
        """Make a folder and those above it, and flush their names."""
        missing = full
        while missing and not os.path.lexists(missing):
            missing = os.path.dirname(missing)
        os.makedirs(full, exist_ok=True)
        while len(full) > len(missing):
            full = os.path.dirname(full)
            self.flush(full or ".", folder=True)

    def flush(self, full: str, folder: bool = False) -> None:
        """Flush a file, or the names in a folder, to the disk, as far as the file system can do that."""
        # Windows flushes only what is open for writing.
        flags = os.O_RDWR if WINDOWS and not folder else os.O_RDONLY
        with self._flushing(full, folder):
            descriptor = os.open(full, flags)
            try:
                sync(descriptor)
            finally:
                os.close(descriptor)

    def retry(self, act: Callable[[], T]) -> T:
        """Call ``act`` and return its result; on Windows, again for a while if another program has the file open."""
        give_up = time.monotonic() + SHARING_SECONDS
        while True:
            try:
                return act()
            except OSError as error:
                if not WINDOWS or not _in_use(error):
                    raise
                if time.monotonic() >= give_up:
                    reason = f"{error.strerror}, for {SHARING_SECONDS:.0f} s; another program may have it open"
                    raise PermissionError(errno.EACCES, reason) from error
            time.sleep(0.01)

    def _name_once(self, temporary: str, full: str) -> None:
        """Give a file its name unless that name is taken."""
        if self.hard_links:
            try:
                _name(os.link, temporary, full)
                return
            except AttributeError:  # Python was built without it
                pass
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
        if WINDOWS:
            _name(os.rename, temporary, full)  # does not replace there
        else:
            os.close(os.open(full, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            try:
                self.retry(lambda: _name(os.replace, temporary, full))
            except BaseException:
                with suppress(OSError):
                    os.unlink(full)
                raise
            if self.hard_links:
                self.log_limitation("links")
        self.hard_links = False

    def _write(self, path: str, data: bytes | pa.Buffer, flushed: bool) -> None:
        with open(path, "xb") as file:
            file.write(data)
            if flushed:
                file.flush()
                with self._flushing(path):
                    sync(file.fileno())

    @contextmanager
    def _flushing(self, full: str, folder: bool = False) -> Iterator[None]:
        """Log that the file system cannot flush, if that is why a flush failed; other errors get the path."""
        try:
            yield
        except OSError as error:
            if error.errno not in (_NO_FOLDER_FLUSH if folder else _NO_FLUSH):
                raise OSError(error.errno, error.strerror, full) from error
            self.log_limitation("folders" if folder else "flush")

    def log_limitation(self, limitation: str) -> None:
        """Log what cannot be guaranteed, a key of ``_TEXTS``, once a process and lake."""
        if (limitation, self._url) not in _LOGGED:
            _LOGGED.add((limitation, self._url))
            log.warning("lake %s: %s", self._url, _TEXTS[limitation])


def too_long(full: str) -> str:
    """A message if Windows finds no folder for a path because the path is too long; empty otherwise."""
    length = max(len(full), len(_temporary(full.rpartition("/")[0])))
    if not WINDOWS or length <= _PATH_LIMIT:
        return ""
    return f"the path has {length} characters and Windows allows {_PATH_LIMIT}, unless long paths are switched on"


def _temporary(folder: str) -> str:
    return f"{folder}/{TEMPORARY_PREFIX}{secrets.token_hex(8)}"


@contextmanager
def _fenced(fence: str, full: str) -> Iterator[None]:
    """Explain why a rename out of the folder ``fence`` or into it failed."""
    try:
        yield
    except OSError as error:
        if fence and error.errno in (errno.ENOENT, errno.ESTALE) and not os.path.isdir(fence):
            raise FencedError(f"{full}: {fence} is gone", path=full) from error
        if fence and error.errno == errno.EXDEV:
            reason = f"it is on another file system than {fence.rpartition('/')[0]}; a lake must be on one file system"
            raise OSError(errno.EXDEV, reason) from error
        raise


def _name(act: Callable[[str, str], None], source: str, target: str) -> None:
    """Rename or link ``source``; an error counts only if ``target`` is not the same file or folder now.

    A network file system repeats a request without an answer. The answer to the second one is an error, though the
    first one was carried out.
    """
    named = os.lstat(source)
    try:
        act(source, target)
    except OSError:
        with suppress(OSError):
            if os.path.samestat(named, os.lstat(target)):
                return
        raise


def sync(descriptor: int) -> None:
    """Flush to the disk itself: on macOS, ``fsync`` leaves data in the disk's own cache."""
    try:
        import fcntl
    except ImportError:  # Windows
        os.fsync(descriptor)
        return
    command: int | None = getattr(fcntl, "F_FULLFSYNC", None)
    if command is not None:
        with suppress(OSError):  # network mounts have none
            fcntl.fcntl(descriptor, command)
            return
    os.fsync(descriptor)


def _in_use(error: OSError) -> bool:
    """Whether an error may mean that another program has a file open, on Windows."""
    return isinstance(error, PermissionError) or getattr(error, "winerror", None) == _NOT_EMPTY
