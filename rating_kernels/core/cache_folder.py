"""The cache folder of compiled kernels: one subfolder of the user's cache folder for each release.

The name of a subfolder depends on the digest of the kernels' sources, the versions of Python, numba and llvmlite, and
the processor. Another release or machine therefore uses another subfolder. ``NUMBA_CACHE_DIR`` replaces the user's
cache folder. If that folder is not writable, a folder of this user below the temporary folder is used. Compiled kernels
are code: a folder or file that another user than root owns or can write to is not read, whoever named the folder
(:mod:`.private_files`). The import of this module has no effects and does not import numba.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
import time
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4

from . import private_files
from .private_files import is_private

KEPT = 4  # unused subfolders that are not deleted
UNUSED_SECONDS = 30 * 86400.0  # after which an unused subfolder is deleted
_DAY = 86400.0
_PREFIX = "kernels-"
_USED = "used"  # file whose time stamp is the last use of the subfolder, to the day
_DIGEST_BYTES = 16

log = logging.getLogger("ranklake.kernels")


def _config() -> Any:
    """numba's settings, also those from the environment."""
    import numba

    config: Any = numba.config
    return config


@lru_cache(maxsize=1)
def release() -> str:
    """Name of the subfolder: digests of the kernels' sources and of compiler and processor."""
    import llvmlite
    import llvmlite.binding
    import numba

    config, processor = _config(), llvmlite.binding
    features = config.CPU_FEATURES
    if features is None:
        try:
            features = processor.get_host_cpu_features().flatten()
        except RuntimeError:  # unknown on this platform
            features = ""
    parts = (
        sys.implementation.cache_tag, getattr(sys, "abiflags", ""), numba.__version__, llvmlite.__version__,
        processor.get_process_triple(), config.CPU_NAME or processor.get_host_cpu_name(), features,
        config.OPT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE, config.BOUNDSCHECK, config.DEBUGINFO_DEFAULT,
    )  # fmt: skip
    compiler = blake2b("\0".join(map(str, parts)).encode(), digest_size=6).hexdigest()
    return f"{_PREFIX}{sources_digest()}-{compiler}"


def sources_digest() -> str:
    """16 hex digits of all modules of ``ranklake.rating_kernels`` by path, equal for all installations of a release."""
    digest = blake2b(digest_size=8)
    kernels = Path(__file__).parents[1]
    for path in sorted(file.relative_to(kernels).as_posix() for file in kernels.rglob("*.py")):
        digest.update(path.encode() + b"\0" + (kernels / path).read_bytes())
    return digest.hexdigest()


def folders() -> tuple[tuple[Path, ...], Path | None]:
    """The subfolders to read, in order, and the one to write to (None if no folder is writable).

    Nothing is created here.
    """
    return _folders(_config().CACHE_DIR or "", os.getpid())


@lru_cache(maxsize=1)
def _folders(chosen: str, pid: int) -> tuple[tuple[Path, ...], Path | None]:
    to_read: list[Path] = []
    for base in (_preferred(), _fallback()):
        if base is None or not (is_private(base) and is_private(base / release())):
            continue
        to_read.append(base / release())
        if _is_writable(base):
            return tuple(to_read), base / release()
    return tuple(to_read), None


def _preferred() -> Path | None:
    """The folder in ``NUMBA_CACHE_DIR``, which may be a link, or the user's; None if there is no home folder."""
    if chosen := _config().CACHE_DIR:
        folder = Path(chosen).absolute()
        return folder.resolve() if folder.is_symlink() else folder
    import platformdirs

    base = Path(platformdirs.user_cache_dir("ranklake", appauthor=False))
    return base if base.is_absolute() else None


def _fallback() -> Path | None:
    """A folder below the temporary folder, for use if the preferred one is not writable; None if there is none."""
    user = os.getuid() if hasattr(os, "getuid") else "kernels"  # elsewhere the temporary folder is the user's own
    try:
        return Path(tempfile.gettempdir(), f"ranklake-{user}")
    except OSError:  # gettempdir tries to write into several folders
        return None


def _is_writable(base: Path) -> bool:
    """Whether a folder is writable or can be created."""
    there = base
    while not os.path.lexists(there) and there != there.parent:
        there = there.parent
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def read(name: str) -> bytes | None:
    """The content of a file of this release; None if it is missing, damaged, or another user could have written it."""
    for folder in folders()[0]:
        try:
            content = private_files.read(folder.parent, folder.name, name) or b""
        except OSError:
            continue
        data = content[_DIGEST_BYTES:]
        if content[:_DIGEST_BYTES] == blake2b(data, digest_size=_DIGEST_BYTES).digest():
            _note_use(str(folder), int(time.time() // _DAY))
            return data
    return None


def write(name: str, data: bytes) -> None:
    """Write a file atomically for this and later processes; warn once if no folder is writable."""
    folder = folders()[1]
    if folder is None:
        _warn_once("compiled kernels cannot be kept, each process compiles them again: "
                  "no folder can be written to by this user alone; set NUMBA_CACHE_DIR to one")  # fmt: skip
    elif not _put(folder, name, data):
        _warn_once("compiled kernels cannot be kept, each process compiles them again: "
                  f"{folder.parent} cannot be written to by this user alone; "
                  "set NUMBA_CACHE_DIR to another folder")  # fmt: skip
    elif folder.parent != (preferred := _preferred()):
        _warn_once(f"compiled kernels are kept in {folder.parent}: {preferred or 'a home folder'} cannot be written to "
                  "by this user alone; set NUMBA_CACHE_DIR to choose another folder")  # fmt: skip


@lru_cache
def _warn_once(text: str) -> None:
    log.warning("%s", text)


def _put(folder: Path, name: str, data: bytes) -> bool:
    temporary = folder / f"{name}.{uuid4().hex}.tmp"
    try:
        if not folder.exists():
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not is_private(folder.parent):  # created by another user in the meantime
                return False
            folder.mkdir(mode=0o700, exist_ok=True)
            prune(folder.parent, folder.name)
        try:
            temporary.touch(mode=0o644, exist_ok=False)  # whatever the umask: a file that others can write is not read
            temporary.write_bytes(blake2b(data, digest_size=_DIGEST_BYTES).digest() + data)
            os.replace(temporary, folder / name)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except PermissionError:
        return (folder / name).exists()  # Windows: another process reads the same file
    except OSError:
        return False
    _note_use(str(folder), int(time.time() // _DAY))
    return True


@lru_cache(maxsize=4)
def _note_use(folder: str, day: int) -> None:
    """Set the time stamp of the last use, at most once a day in each process."""
    used = Path(folder, _USED)
    try:
        if not used.exists() or time.time() - used.stat().st_mtime > _DAY:
            used.touch()
    except OSError:
        return  # a read-only folder


def prune(base: Path, own: str) -> None:
    """Delete subfolders of other releases: those unused for 30 days, and all but the most recently used ones.

    A subfolder that was used within a day is not deleted. A process whose folder is deleted compiles again.
    """
    others = []
    for folder in base.glob(f"{_PREFIX}*"):
        if folder.name == own:
            continue
        try:
            used = folder / _USED
            others.append(((used if used.exists() else folder).stat().st_mtime, folder))
        except OSError:
            continue
    now = time.time()
    for place, (last_use, folder) in enumerate(sorted(others, reverse=True)):
        if now - last_use > (UNUSED_SECONDS if place < KEPT else _DAY):
            shutil.rmtree(folder, ignore_errors=True)


def is_warm(part: str) -> bool:
    """Whether all kernels of a part are cached: :func:`mark_warm` was called for this release and processor."""
    return read(f"{part}.warm") is not None


def mark_warm(part: str) -> None:
    """Record that all kernels of a part are cached; no effect if no folder is writable."""
    folder = folders()[1]
    if folder is not None and folder.exists():
        _put(folder, f"{part}.warm", b"")
