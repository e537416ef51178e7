"""Files that only this user or root can have written. Code is loaded from no other file.

The base folder, its subfolder and the file are opened one relative to the other, and owner and mode are those of what
is open: a replacement between check and reading has no effect. The folders above the base are not checked. A user with
write access to one of them can replace the base, but only by a folder of another owner, which is refused.

On Windows nothing is checked: modes do not show who can write there, and the folders of a user are private by default.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_POSIX = hasattr(os, "geteuid")
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # no link; a pipe does not wait
_FOLDER = getattr(os, "O_DIRECTORY", 0)


def _is_ours(status: os.stat_result) -> bool:
    """Whether the owner is this user or root, and neither the group nor others can write."""
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022


def is_private(folder: Path) -> bool:
    """Whether a folder is missing, or is no link and only this user or root can write to it."""
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and (not _POSIX or _is_ours(status))


def read(base: Path, subfolder: str, name: str) -> bytes | None:
    """The content of the regular file ``base/subfolder/name``; None if another user could have written it.

    Raises OSError: if a folder or the file is missing, is a link, or cannot be read.
    """
    if not _POSIX:
        return (base / subfolder / name).read_bytes()
    opened: list[int] = []
    try:
        for place, kind in ((str(base), _FOLDER), (subfolder, _FOLDER), (name, 0)):
            opened.append(os.open(place, _FLAGS | kind, dir_fd=opened[-1] if opened else None))
            status = os.fstat(opened[-1])
            if not _is_ours(status):
                return None
        if not stat.S_ISREG(status.st_mode):
            return None
        with open(opened[-1], "rb", closefd=False) as file:
            return file.read()
    finally:
        for descriptor in opened:
            os.close(descriptor)
