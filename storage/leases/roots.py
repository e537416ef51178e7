"""Roots: the two files whose replacement is a commit, ``contests.parquet`` and ``run.json``, in an object store.

An object store has no renames, so there is no fence as on a disk (``ranklake.storage.leases.fence``). A request may
also arrive late: it is not only the process that can be suspended. Here it is the data that exclude a writer who has
lost the lease:

* **A root is replaced only if it is still what its writer read.** That is a conditional put, ``If-Match`` with the
  ETag of the object that was read; a new root is made only if there is none, ``If-None-Match``. So a commit that is
  based on a state that a successor has replaced fails in the store itself.
* **A state never comes back.** A lease holder that follows a writer who may come back (its lease was neither given
  back, nor is its process known to have ended) begins an *epoch*. The epoch is the number of its lease, and every later
  root of the same data set or run has it. So bytes that the old writer read are never a root's bytes again, and a
  lake that no writer was ever taken away from has no epoch and is the same to the byte as one on a disk.
* **A name means one epoch.** New files of a data set have the epoch in their names; the files of a run are in the
  folders ``rounds-<epoch>`` and ``snapshots-<epoch>``, to which the successor copies what it found before it replaces
  the root. A file that an old writer puts or deletes late is in another epoch: no root refers to it.
* **A root that is deleted leaves nothing that an old writer could make again.** The deletion is conditional, too. If a
  writer may come back, a small tombstone takes the place of the root.

*Proof.* Let S be the writer that lost the lease, and N the first later holder that commits; N begins an epoch, since S
may come back. S can commit before N commits. Then the root is not what N read, N's conditional put fails, and N has
lost nothing but time. Or N commits first. Then the root has another epoch than S read, for ever, and every commit of
S fails. What S puts beside the root has names that are not of this epoch. What S deletes was listed before S looked at
its lease for the last time. So N had not put anything yet, and what N took over by its root was in the root of S, too,
and is not deleted by S.

What this cannot do: between its conditional puts to several roots a store knows no order. The plain leaderboard and the
records of what was taken from a source are replaced conditionally, too, but they have no epoch. Both are derived and
are made again.

Stores without conditional puts: see ``ranklake.storage.lake.object_stores.conditional``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..lake.errors import MissingError
from ..lake.lake import Lake
from .lease import Lease

__all__ = ["begin_epoch", "delete_root", "epoch_of", "has_root", "read_root"]

_TOMBSTONE = b'{"deleted_by_lease": '
_TOMBSTONE_BYTES = 64  # at most; no root is so small


def read_root(lake: Lake, path: str) -> tuple[bytes | None, str]:
    """The bytes of a root, None if there is none, and the version that a commit based on it must replace."""
    try:
        data, version = lake.read_versioned(path)
    except MissingError:
        return None, ""
    return (None if data.startswith(_TOMBSTONE) else data), version


def has_root(lake: Lake, path: str) -> bool:
    """Whether there is a root."""
    if lake.local:
        return lake.exists(path)
    size = lake.size(path)
    return size is not None and (size > _TOMBSTONE_BYTES or read_root(lake, path)[0] is not None)


def begin_epoch(lease: Lease | None, epoch: int) -> int:
    """The epoch of what a lease holder commits after a state of ``epoch``; 0 in a lake without any."""
    return epoch if lease is None or lease.predecessor < epoch or lease.predecessor < 0 else lease.number


def epoch_of(metadata: Mapping[str, str]) -> int:
    """The epoch in what a table of contests says of itself."""
    return int(metadata.get("epoch", "0"))


def delete_root(lake: Lake, path: str, lease: Lease) -> None:
    """Delete a root, if it is still what it is now; nothing happens if there is none.

    Raises
    ------
    LeaseHeldError
        Somebody else has taken over.
    """
    data, version = read_root(lake, path) if not lake.local else (b"", "")
    lease.check()
    if lease.predecessor >= 0:
        lease.replace_bytes(path, _TOMBSTONE + json.dumps(lease.number, allow_nan=False).encode() + b"}", version)
    elif data is not None:
        lease.delete(path, version)
