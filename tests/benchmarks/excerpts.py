"""The first contests of a real history, as a file of the same kind: rows with a limit do not read the whole one."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq


def excerpt(whole: Path, target: Path, limit: int) -> Path:
    """Write the first ``limit`` contests of ``whole`` to ``target``, unless they are there; returns ``target``.

    Archives have one member a contest, in order. Tables have the columns ``contest_id`` and ``time``.
    """
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        if whole.suffix == ".parquet":
            _of_table(whole, target, limit)
        else:
            _of_archive(whole, target, limit)
    return target


def _of_archive(whole: Path, target: Path, limit: int) -> None:
    with tarfile.open(whole, "r|*") as archive, tarfile.open(target, "w:xz", preset=0) as short:
        members = (member for member in archive if member.isfile())
        for member, _ in zip(members, range(limit), strict=False):
            short.addfile(member, archive.extractfile(member))


def _of_table(whole: Path, target: Path, limit: int) -> None:
    table = pq.read_table(whole)
    begins = table.group_by("contest_id", use_threads=False).aggregate([("time", "min")])
    first = begins.take(pc.sort_indices(begins["time_min"])).column("contest_id").slice(0, limit)
    pq.write_table(table.filter(pc.is_in(table["contest_id"], first.combine_chunks())), target)
