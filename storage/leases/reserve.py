"""The reserve: a few small files of a lake on a disk, removed so that a full disk can take the lease of a deletion.

Every command that writes holds a lease, and a lease is a new file. On a full disk no lease could be taken, and the
commands that free space would fail. Those commands remove parts of the reserve, one at a time, until the lease is
taken. The next command that finds space writes the missing parts again. Each part gives back blocks and one inode. No
other command uses the reserve: its data would fill it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from ..lake.access.lake import Lake
from ..lake.access.space import free_bytes
from ..lake.errors import LakeError, NoSpaceError

T = TypeVar("T")

RESERVE = ".reserve"  # no data set can have this name
PARTS = 8
PART_BYTES = 32 * 1024  # XFS allocates inodes in chunks of this size


def refill_reserve(lake: Lake) -> None:
    """Write the missing parts, as far as there is space. Object stores need no reserve.

    A failure is ignored: the command itself reports a full disk or a folder that cannot be written to.
    """
    if not lake.local:
        return
    with suppress(LakeError):
        found = lake.sizes(RESERVE)
        names = [f"part-{number}" for number in range(PARTS)]
        for name in found.keys() - set(names):  # left by a killed process
            lake.delete(f"{RESERVE}/{name}")
        for number, name in enumerate(names):
            if found.get(name) != PART_BYTES:
                # file systems may compress zeros, and lakes are compared to the byte
                lake.write_bytes(f"{RESERVE}/{name}", random.Random(number).randbytes(PART_BYTES))


def with_reserve(lake: Lake, act: Callable[[], T]) -> T:
    """Call ``act``; on a full disk, again after each part of the reserve that is removed. Returns its result.

    Raises NoSpaceError: the disk is full and the reserve is used up.
    """
    while True:
        try:
            return act()
        except NoSpaceError:
            if not _release(lake):
                raise


def affordable(lake: Lake, sizes: Sequence[int], also: int = 0) -> list[int]:
    """Select the files that fit on the disk, beside the reserve and ``also`` more bytes, given all sizes in bytes.

    Returns list of int: indices into ``sizes``, ascending: all, or those of the smallest files.
    """
    if not lake.local:
        return list(range(len(sizes)))
    missing = PARTS * PART_BYTES - sum(lake.sizes(RESERVE).values())
    left = free_bytes(lake.uri("")) - also - max(missing, 0)
    chosen = []
    for number in sorted(range(len(sizes)), key=sizes.__getitem__):
        if (left := left - sizes[number]) < 0:
            break
        chosen.append(number)
    return sorted(chosen)


def _release(lake: Lake) -> bool:
    """Remove one part; returns whether there was one."""
    names = lake.list(RESERVE) if lake.local else []
    if names:
        lake.delete(f"{RESERVE}/{names[-1]}")
    return bool(names)
