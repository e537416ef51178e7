"""Roots: the two files whose replacement is a commit, ``contests.parquet`` and ``run.json``, in an object store.

An object store has no renames, so there is no fence as on a disk (``ranklake.storage.leases.fence``). A request may
also arrive late, so a delay can occur after the process has sent it. Here the data themselves exclude a writer that
lost the lease:

* **A root is replaced only if it is still what its writer read.** That is a conditional put, ``If-Match`` with the
  ETag of the object that was read; a new root is made only if there is none, ``If-None-Match``. So a commit that is
  based on a state that a successor has replaced fails in the store itself.
* **A state never comes back.** If the previous writer may come back (its lease was not released, and its process is not
  known to have ended), the next lease holder begins an *epoch*. The epoch is the number of its lease, and every later
  root of the same data set or run has it. So the bytes that the old writer read are never again the bytes of a root.
  A lake in which no lease was ever taken over has no epoch and is the same to the byte as one on a disk.
* **A name belongs to one epoch.** New files of a data set have the epoch in their names. The files of a run are in the
  folders ``rounds-<epoch>`` and ``snapshots-<epoch>``; the successor copies the existing files there before it replaces
  the root. A file that an old writer puts or deletes late is in another epoch: no root refers to it.
* **An old writer cannot restore a deleted root.** The deletion is conditional, too. If a writer may come back, a small
  tombstone takes the place of the root.

*Proof.* Let S be the writer that lost the lease, and N the first later holder that commits. N begins an epoch, since S
may come back. Either S commits before N. Then the root is not what N read, N's conditional put fails, and N has lost
nothing but time. Or N commits first. Then the root has another epoch than S read, for ever, and every commit of S
fails. The names of the files that S puts beside the root are not of this epoch. The files that S deletes were listed
before S checked its lease for the last time. At that time N had not put any file. The files that N took over by its
root were in the root of S, too, and S does not delete them.

Limits: a store gives no order between conditional puts to several roots. The plain leaderboard and the records of the
sources are replaced conditionally, too, but they have no epoch. Both are derived and are made again.

Stores without conditional puts: see ``ranklake.storage.lake.access.object_stores``. A store that puts conditionally,
but deletes without a condition, gets a tombstone in any case.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from ..lake.access.lake import Lake
from ..lake.errors import MissingError
from .lease import Lease

_TOMBSTONE = b'{"deleted_by_lease": '
_TOMBSTONE_BYTES = 64  # at most; no root is so small


def read_root(lake: Lake, path: str) -> tuple[bytes | None, str]:
    """The bytes of a root (None if there is none), and the version that a commit based on it must replace."""
    if not isinstance(lake, Lake):  # the address of a lake is a common mistake
        raise TypeError(f"lake must be a Lake, as of Lake.open('path'), got a value of the type {type(lake).__name__}")
    try:
        data, version = lake.read_versioned(path)
    except MissingError:
        return None, ""
    return (None if data.startswith(_TOMBSTONE) else data), version


def has_root(lake: Lake, path: str) -> bool:
    """Whether the root exists."""
    if lake.local:
        return lake.exists(path)
    size = lake.size(path)
    return size is not None and (size > _TOMBSTONE_BYTES or read_root(lake, path)[0] is not None)


def names_with_root(lake: Lake, folder: str, path_of: Callable[[str], str]) -> list[str]:
    """Names in a folder whose root exists, sorted; ``path_of`` gives the root, ValueError for any other name."""
    names = []
    for name in lake.list(folder):
        try:
            path = path_of(name)
        except ValueError:
            continue
        if has_root(lake, path):
            names.append(name)
    return names


def begin_epoch(lease: Lease | None, epoch: int) -> int:
    """The epoch of the next commit under ``lease``, after a state of ``epoch``; 0 in a lake without epochs."""
    return epoch if lease is None or lease.predecessor < epoch or lease.predecessor < 0 else lease.number


def epoch_of(metadata: Mapping[str, str]) -> int:
    """The epoch in the metadata of a table of contests."""
    return int(metadata.get("epoch", "0"))


def delete_root(lake: Lake, path: str, lease: Lease) -> None:
    """Delete a root on condition that it does not change meanwhile; does nothing if there is none.

    On a disk the deletion is flushed: files that the root names can then be deleted.

    Raises LeaseHeldError: another process took over.
    """
    data, version = read_root(lake, path) if not lake.local else (b"", "")
    lease.check()
    if lease.predecessor >= 0 or (data and version and lake.ignores_deletion_condition(f"{path}.condition")):
        lease.lake.replace_bytes(path, _TOMBSTONE + json.dumps(lease.number, allow_nan=False).encode() + b"}", version)
    elif data is not None:
        lease.lake.delete_version(path, version)
    lake.flush()
