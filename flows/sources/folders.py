"""The files of a folder, without leftovers of other programs and without lakes of ranklake below it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ranklake.storage.lake.layout import RESERVED
from ranklake.storage.leases.reserve import RESERVE

from .base import IngestReport
from .lake_tables import kind_of

__all__ = ["is_leftover", "walk"]

# Lock files of Excel and LibreOffice, resource forks of macOS, locks, backups and swap files of editors, files of NFS
# and of folder views.
_LEFTOVER = re.compile(
    r"~\$.*|\.~lock\..*#|\._.*|\.#.*|#.*#|.*~|\..*\.sw[a-z]|\.nfs[0-9a-f]+|\.ds_store|thumbs\.db|desktop\.ini", re.I
)
_OF_A_LAKE = {*RESERVED, RESERVE}


def is_leftover(name: str) -> bool:
    """Whether a file's name is that of a file which another program leaves beside the files that it opens."""
    return _LEFTOVER.fullmatch(name) is not None


def walk(
    folder: str | os.PathLike[str], report: IngestReport | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """As ``os.walk``, in order of name. A caller may remove names of the list of folders.

    Parameters
    ----------
    report
        Counts the leftovers and names the lakes.

    Raises
    ------
    OSError
        A folder cannot be listed.
    """
    for place, folders, names in os.walk(folder, onerror=_refuse):
        of_lake = {name for name in folders if kind_of(Path(place, name)) == "ranklake"}
        if of_lake or RESERVE in folders:
            if report is not None:
                report.notes.append(f"not read: the lake of ranklake in {os.path.relpath(place, folder)}")
            folders[:] = [name for name in folders if name not in of_lake | _OF_A_LAKE]
        kept = sorted(name for name in names if not is_leftover(name))
        if report is not None:
            report.other_files += len(names) - len(kept)
        folders.sort()
        yield place, folders, kept


def _refuse(error: OSError) -> None:
    raise error
