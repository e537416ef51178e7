"""A small file system for this process and its children only; it disappears with the last of them."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

SMALL_BYTES = 4 * 2**20

_CLONE_NEWNS = 0x0002_0000  # sched.h
_MS_REC, _MS_PRIVATE = 0x4000, 1 << 18  # sys/mount.h


def small_disk(folder: Path) -> Path | None:
    """Mount a file system of ``SMALL_BYTES`` in a new folder; None if that is not allowed.

    The mount is in a name space of this process: nothing has to be unmounted, however the process ends. To be called
    while the process has one thread.
    """
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if library.unshare(_CLONE_NEWNS):
            return None
        # Mounts of this name space must not spread to the one it was made of.
        if library.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None):
            return None
        folder.mkdir()
        if library.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={SMALL_BYTES}".encode()):
            folder.rmdir()
            return None
    except (OSError, AttributeError):  # no such functions: not Linux
        return None
    return folder
