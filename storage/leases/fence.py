"""Fences: the folder of a lease through which its holder changes files, so that a lost lease cannot change any.

A process can be suspended between its last check of the lease and the change that this check allowed. So the check
cannot protect the change. On a disk a fence does. It is the folder ``writing-000007`` beside ``lease-000007.json``:

* A write puts a temporary file into the fence and renames it to its final name.
* A deletion renames the file or folder into the fence and deletes it there.
* The next lease holder creates its lease first. Then it renames every older fence to a name that no process uses,
  deletes it with all that is in it, and only then reads what it is going to change.

*Proof.* Let R be the removal of the old fence by the next holder. A change is one ``rename``, which takes its source
from the fence or puts its target there. If it takes effect before R, the next holder reads its result. After R its
source, or the folder of its target, is gone. A folder that was removed never contains a file again, not even for a
process or a server that had resolved its path before, and the old holder never makes its fence again. So the rename
fails with ENOENT (or ESTALE) and changes nothing. There is no third case, because a rename is atomic. No hard links and
no clock are needed.

A lease holder that is suspended before it made its fence makes it too late. Therefore it reads the newest lease once
more after it made its fence. If that is not its own, it gives up. If it is, any other lease is created after that
check, and its holder finds the fence.

A lease file may be deleted by hand, while its holder runs or after it was killed. Its fence stays. The next lease has a
higher number than all leases and all fences, so that fence is an older one, and is revoked. A fence with the number of
the lease itself, found before its holder makes its own, is revoked, too.

On Windows a folder with an open file in it cannot be renamed. Then the next holder fails with that error.

In an object store there are no renames; see ``ranklake.storage.leases.roots``.
"""

from __future__ import annotations

from ..lake.access.lake import Lake
from ..lake.layout import fence_folder, fence_number


def open_fence(lake: Lake, folder: str, lease: int) -> str:
    """Revoke all older fences on ``folder`` and make the fence of this lease; returns its path in the lake."""
    while older := [name for name in lake.list(folder) if -1 < fence_number(name) <= lease]:
        for name in older:
            lake.revoke_fence(f"{folder}/{name}")
    # Listed once more each time: a process that is suspended while it revokes a fence may give it another name.
    fence = fence_folder(folder, lease)
    lake.make_fence(fence)
    return fence
