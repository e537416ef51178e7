"""Full disks: the errors that mean one, the free space, and the commands that free some."""

from __future__ import annotations

import errno
import os
import re
import shutil

# ERROR_DISK_FULL of Windows becomes ENOSPC; a quota is EDQUOT, which not every platform has.
_FULL = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})
_TEXT = re.compile(rf"os error ({'|'.join(map(str, sorted(_FULL | {112})))})\b")  # as Rust's libraries write it

_FEW_INODES = 16  # a failed command gives some back before it reports the error

HOW_TO_FREE_SPACE = (
    "to free some: `ranklake publish --run RUN --maintain`, `ranklake compact`, `ranklake delete --run RUN`"
)


def is_full(error: BaseException) -> bool:
    """Whether an error means that the disk has no space, no inode or no quota left."""
    return isinstance(error, OSError) and error.errno in _FULL


def text_means_full(text: str) -> bool:
    """Whether an error message without an error number means a full disk."""
    return _TEXT.search(text) is not None


def free_bytes(path: str) -> int:
    """Bytes that this user can still write on the disk of a path, without regard to quotas."""
    return shutil.disk_usage(_existing(path)).free


def free_space(path: str) -> str:
    """A text with the free space on the disk of a path; empty if the platform does not report it."""
    try:
        usage = shutil.disk_usage(_existing(path))
    except OSError:
        return ""
    text = f"{usage.free:,} of {usage.total:,} bytes free"
    if hasattr(os, "statvfs"):
        inodes = os.statvfs(_existing(path))
        if inodes.f_files and inodes.f_favail < _FEW_INODES:  # file systems without a limit have 0 of 0
            text += f", {inodes.f_favail:,} of {inodes.f_files:,} inodes free"
    return text


def no_space_to_merge(path: str, needed: int, disk: str) -> str:
    """The message that files cannot be merged: the bytes needed and the free space."""
    return (
        f"{path}: no space to merge more files, which takes {needed:,} bytes ({free_space(disk)}); {HOW_TO_FREE_SPACE}"
    )


def _existing(path: str) -> str:
    """The nearest existing folder above a path."""
    path = os.path.abspath(path)
    while not os.path.exists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path
