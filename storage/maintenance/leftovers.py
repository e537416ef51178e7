"""What ended writers left in the folder of a data set, run or source, and names there that no command makes."""

from __future__ import annotations

from typing import NamedTuple

from ..lake.access.lake import Lake
from ..lake.errors import LakeError, MissingError
from ..lake.layout import FENCE_PREFIX, TEMPORARY_PREFIX, fence_folder, fence_number
from ..leases.holder import LEASE_PREFIX, lease_holder, lease_number, read_lease

# Of a data set: the next commit removes what is left there.
_COLLECTED = ("standings", "players", "contests", "log", "events", "results")


class Leftovers(NamedTuple):
    """Lines about the files of leases in one folder, each with the path and the remedy.

    ``faults``: leases that cannot be read: no command can tell whether a writer is running.
    ``notes``: the writer that is running, and what others left. No command fails because of it.
    """

    faults: list[str]
    notes: list[str]


def find_leftovers(lake: Lake, folder: str) -> Leftovers:
    """Find the leases, fences and temporary files of ended writers in a folder of the lake."""
    faults: list[str] = []
    notes: list[str] = []
    names = lake.list(folder)
    leases = sorted(name for name in names if lease_number(name) >= 0)
    for name in leases:
        try:
            read_lease(lake, folder, lease_number(name))
        except MissingError:  # its successor has just deleted it
            continue
        except LakeError as error:
            faults.append(str(error))
    by = None if faults else lease_holder(lake, folder)
    in_use = ""
    if by is not None:
        notes.append(f"{folder}: {by.owner} holds the lease; files that change meanwhile may look damaged")
        in_use = fence_folder(folder, max(map(lease_number, leases), default=0)).rpartition("/")[2]
    removes = f"the next command that changes {folder} removes it"
    for name in names:
        if fence_number(name) >= 0:
            if name != in_use:
                notes.append(f"{folder}/{name}: a writer that ended left it; {removes}")
        elif name.startswith((FENCE_PREFIX, LEASE_PREFIX)) and name not in leases:
            notes.append(f"{folder}/{name}: no command gives this name; delete it")
        elif name.startswith(TEMPORARY_PREFIX) and by is None:
            notes.append(f"{folder}/{name}: a writer that ended left it; {removes}")
    notes += [f"{folder}/{path}: a writer that ended left it; delete it" for path in _temporary(lake, folder, names)]
    return Leftovers(faults, notes)


def _temporary(lake: Lake, folder: str, names: list[str]) -> list[str]:
    """Temporary files in the folders of a folder that no command removes; a store has none."""
    if not lake.local:
        return []
    within = [name for name in names if name not in _COLLECTED and fence_number(name) < 0]
    below = (f"{name}/{path}" for name in within for path in lake.sizes_below(f"{folder}/{name}"))
    return sorted(path for path in below if path.rpartition("/")[2].startswith(TEMPORARY_PREFIX))
