"""Writes of other processes under a lease: workers of a cluster write for the process that holds it.

On a disk these processes write through a folder of their own inside the fence of the lease. The lease holder removes it
when it waits for them no longer. Then a late write fails, as does one after the loss of the lease
(``ranklake.storage.leases.fence``). In an object store a late put succeeds. Therefore such a file has the digest of its
content as its name, and exists for readers only when the holder of the lease commits a manifest that names it.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from ..lake.access.lake import Lake
from ..lake.errors import LakeError
from .holder import read_lease


@dataclass(frozen=True, slots=True)
class Delegate:
    """What a process needs to write under the lease of another one. Made by ``Lease.delegate``; can be pickled.

    ``address``: of the lake, from any working folder.
    ``folder``: the folder under the lease.
    ``lease``: number of the lease.
    ``token``: unique to the lease.
    ``fence``: the folder for writes on a disk; empty in an object store.
    """

    address: str
    folder: str
    lease: int
    token: str
    fence: str

    def open(self) -> Lake:
        """The lake.

        Raises LakeError: this process does not reach the lake, or finds another one at the same address.
        """
        lake = Lake.open(self.address)
        if read_lease(lake, self.folder, self.lease).token != self.token:
            raise LakeError(f"{self.address}: another lake has this address here")
        return lake

    def write_bytes(self, lake: Lake, path: str, data: pa.Buffer) -> None:
        """Make or replace a file, as ``Lake.commit_bytes``; on a disk its folder must exist.

        The holder of the lease only gets its name, and cannot flush it.

        Raises LakeError: also if the holder of the lease waits no longer, or has lost the lease; nothing was changed.
        """
        lake.commit_bytes(path, data, fence=self.fence)
