"""Changes of files since their last ingestion, found by one ``stat`` for each unchanged file.

The data set has a record of each path: size, modification time and digest of every file. If a file is being written, or
changes while it is read, nothing is ingested, and the next pass tries again.
"""

from __future__ import annotations

import glob
import hashlib
import os
import time
from collections.abc import Callable, Collection
from pathlib import Path

import msgspec

from ranklake.storage import Ingest, Lake
from ranklake.storage.lake import layout

from ..sources.base import SourceError
from ..sources.lake_tables import is_leftover, kind_of, walk
from .adding import read_record

SETTLED_SECONDS = 2.0  # a file that was written to more recently may be half copied; FAT counts time in 2 s
_NS = 10**9


class FileState(msgspec.Struct, frozen=True):
    """Size in bytes, modification time in nanoseconds, and digest of the content of a file."""

    size: int
    modified_ns: int
    digest: str = ""


class _PathRecord(msgspec.Struct):
    """The last ingestion of a path: options, start of reading, and each file by its relative path."""

    path: str
    options: str
    read_ns: int
    files: dict[str, FileState]


class PathChanges(msgspec.Struct):
    """A path, compared with the record of its last ingestion: the number of its files, and of those that are new,
    missing or changed; ``changed``: whether it must be read, as a file or the options changed.
    """

    n_files: int
    n_changed: int
    changed: bool
    check: Callable[[], None]
    keep: Callable[[], None]
    record: Callable[[Ingest], None]


def watch(
    lake: Lake,
    dataset: str,
    path: str | os.PathLike[str],
    options: str = "",
    only: Collection[str] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> PathChanges:
    """Compare a path with the record of its last ingestion into a data set.

    ``path`` is a file, a folder with everything below it, or a pattern; ``only`` names the relevant files of a folder;
    ``options`` is a text that differs for other ways of reading. Call ``record`` of the result before the ingest
    commits: it calls ``check``, and the ingest then writes the record under its lease. ``keep`` writes it at once.

    Raises ``SourceError`` if the path does not exist, or a file is being written.
    """
    path = os.path.abspath(path)
    place = layout.source_file(dataset, f"files-{hashlib.blake2b(os.fsencode(path), digest_size=8).hexdigest()}")
    found, version = read_record(lake, place, _PathRecord)
    before = found or _PathRecord(path, "", 0, {})
    now, states, same_options = time.time_ns(), _stat(path, only), before.options == options
    held = {name for name, state in states.items() if _holds(state, before.files.get(name), before.read_ns)}
    if same_options and before.read_ns and held == before.files.keys() == states.keys():
        return PathChanges(len(states), 0, False, lambda: None, lambda: None, lambda adding: None)
    states = _settled(path, only, states, sleep)
    digests = {
        name: before.files[name].digest if name in held else _digest(os.path.join(path, name) if name else path)
        for name in states
    }
    old = {name: state.digest for name, state in before.files.items()}
    n_changed = sum(old.get(name) != digest for name, digest in digests.items()) + len(old.keys() - digests.keys())
    files = {name: FileState(state.size, state.modified_ns, digests[name]) for name, state in states.items()}

    def check() -> None:
        if _stat(path, only) != states:
            raise SourceError("it was changed while it was read; nothing was ingested, run again", path)

    def keep() -> None:
        lake.write_bytes(place, data())

    def record(adding: Ingest) -> None:
        check()
        adding.record(place, data(), version)

    def data() -> bytes:
        return msgspec.json.encode(_PathRecord(path, options, now, files))

    unchanged = same_options and before.read_ns > 0 and n_changed == 0
    if unchanged:  # only times changed; no lease is needed, as a wrong record costs one more reading
        keep()
    return PathChanges(len(files), n_changed, not unchanged, check, keep, record)


def _stat(path: str, only: Collection[str] | None) -> dict[str, FileState]:
    """Size and modification time of every file, by its path relative to ``path``."""
    try:
        if not os.path.exists(path) and (found := glob.glob(path, recursive=True)):  # a pattern such as results/*.csv
            files = sorted(file for file in found if not is_leftover(os.path.basename(file)))
            tables = [file for file in files if os.path.isdir(file) and kind_of(Path(file)) == "delta"]
            below = {
                os.path.join(table, name): state for table in tables for name, state in _below(table, only).items()
            }
            return {file: _state(file) for file in files if not os.path.isdir(file)} | below
        if _is_odd(path):
            raise SourceError("neither a plain file nor a folder", path)
        return _below(path, only) if os.path.isdir(path) else {"": _state(path)}
    except FileNotFoundError:
        if not os.path.exists(path):
            raise SourceError("no such file or folder", path) from None
        raise SourceError("a file disappeared while the folder was listed; run again", path) from None
    except OSError as error:
        raise SourceError(f"cannot be listed: {error.strerror or error}", path) from None


def _below(path: str, only: Collection[str] | None) -> dict[str, FileState]:
    states = {}
    for folder, _, names in walk(path):
        for name in names:
            file = os.path.join(folder, name)
            # Reading a pipe would block for ever. The reader skips pipes and dangling links, too.
            if (only is None or name in only) and not _is_odd(file):
                states[os.path.relpath(file, path)] = _state(file)
    return states


def _is_odd(file: str) -> bool:
    """Whether a path is neither a file nor a folder, for example a pipe or a dangling link."""
    return os.path.lexists(file) and not (os.path.isfile(file) or os.path.isdir(file))


def _state(file: str) -> FileState:
    status = os.stat(file)
    return FileState(status.st_size, status.st_mtime_ns)


def _holds(state: FileState, known: FileState | None, read_ns: int) -> bool:
    """Whether a file is unchanged by its size and time; a time counts only if it is older than the reading by
    :data:`SETTLED_SECONDS`, as a file may be written twice within one tick of a clock.
    """
    if known is None or (state.size, state.modified_ns) != (known.size, known.modified_ns):
        return False
    return state.modified_ns < read_ns - SETTLED_SECONDS * _NS


def _settled(
    path: str, only: Collection[str] | None, states: dict[str, FileState], sleep: Callable[[float], None]
) -> dict[str, FileState]:
    """The same files, after :data:`SETTLED_SECONDS` without a write."""
    newest = max((state.modified_ns for state in states.values()), default=0)
    if time.time_ns() - newest >= SETTLED_SECONDS * _NS:
        return states
    sleep(SETTLED_SECONDS)
    again = _stat(path, only)
    if again != states:
        raise SourceError("it is being written at the moment; nothing was ingested, run again later", path)
    return again


def _digest(file: str) -> str:
    try:
        with Path(file).open("rb") as stream:
            return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        raise SourceError(f"it cannot be read: {error.strerror}", file) from None
