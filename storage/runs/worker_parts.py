"""Parts of a snapshot that other processes write, each with the players that it holds.

A part has the digest of its bytes as its name, and exists for readers only when a manifest names it. A crash, a lost
worker or a lost lease before that leaves files without a manifest, which the next writer of the run deletes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..lake.access.files import Guard
from ..lake.access.lake import Lake, digest_of
from ..lake.errors import LakeError
from ..leases.lease import Delegate, Lease
from .snapshot_columns import PART_PLAYERS, encode, to_table
from .snapshots import PLAYER, Part, clear_snapshot, part_file

LOOK_SECONDS = 5.0  # timeout of a process that looks for the lake


@dataclass(frozen=True, slots=True)
class PartWriter:
    """Writes the beliefs that a process holds. Made by :func:`write_parts`; can be pickled."""

    folder: str
    delegate: Delegate

    def __call__(self, players: npt.NDArray[np.integer], columns: Mapping[str, Any]) -> list[Part] | str:
        """Write the beliefs about some players.

        ``players``: the player of each row.
        ``columns``: as those of a snapshot.
        Returns list of Part, or str: the parts written, or why they could not be written.
        """
        try:
            lake = look(self.delegate).under(Guard(self.delegate.fence))  # its holder cannot flush what is written here
            return [
                self._write(lake, players, columns, start, min(start + PART_PLAYERS, len(players)))
                for start in range(0, len(players), PART_PLAYERS)
            ]
        except (LakeError, OSError) as error:
            return str(error) or type(error).__name__

    def _write(
        self, lake: Lake, players: npt.NDArray[np.integer], columns: Mapping[str, Any], start: int, stop: int
    ) -> Part:
        data = encode(to_table({PLAYER: players.astype(np.int32), **columns}, start, stop))
        part = Part(stop - start, data.size, digest_of(data))
        lake.commit_bytes(f"{self.folder}/{part_file(part)}", data)
        return part


WriteParts = Callable[[PartWriter], Sequence[list[Part] | str]]


def write_parts(lake: Lake, folder: str, lease: Lease, write: WriteParts) -> list[list[Part] | str]:
    """Have other processes write the parts of a snapshot.

    ``folder``: of the snapshot; what is in it is deleted.
    ``write``: calls the given function in each process, and returns its results.
    Returns list: the result of each process. If one of them is a text, all parts have been deleted.
    Raises LeaseHeldError: another process took over.
    """
    lease.check()
    clear_snapshot(lease.lake, folder)
    lake.make_folder(folder)  # by this process, which may have to delete it
    complete = False
    try:
        with lease.delegate() as delegate:
            results = write(PartWriter(folder, delegate))
        lease.check()
        sizes = lake.sizes(folder)
        checked = [
            result
            if isinstance(result, str) or all(sizes.get(part_file(part)) == part.size for part in result)
            else "its files are not in the lake"
            for result in results
        ]
        complete = not any(isinstance(result, str) for result in checked)
        return checked
    finally:
        if not complete:
            lease.lake.delete_folder(folder)


def look(delegate: Delegate) -> Lake:
    """The lake of a delegate, whose disk or store may not answer forever; raises ``TimeoutError`` then."""
    found: list[Lake | Exception] = []

    def call() -> None:
        try:
            found.append(delegate.open())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=call, name="ranklake-look", daemon=True)
    thread.start()
    thread.join(LOOK_SECONDS)
    result = found[0] if found else TimeoutError(f"the lake does not answer within {LOOK_SECONDS:.0f} s")
    if isinstance(result, Exception):
        raise result
    return result
