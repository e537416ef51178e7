"""The published files of a run in the order of writing, and their deletion."""

from __future__ import annotations

from ranklake.storage import Lake
from ranklake.storage.lake import layout
from ranklake.storage.lake.schemas import OF_ATTRIBUTES, PUBLISHED
from ranklake.storage.leases.lease import Lease

from .index_manifest import index_path

__all__ = ["LATEST", "LATEST_OF", "UNFINISHED", "WRITTEN", "delete_published"]

LATEST = "latest.parquet"
LATEST_OF = "latest.json"  # has the version of the leaderboard; written last
UNFINISHED = "unfinished.json"  # on a disk, from before the first change of a publish until all of it is flushed
WRITTEN = ("players", "contests", "ratings", "leaderboard", LATEST, LATEST_OF)  # in this order; then OF_ATTRIBUTES


def delete_published(lake: Lake, run_name: str, lease: Lease) -> None:
    """Delete the published tables of a run in reverse order of writing.

    The newest versions of a table are deleted first, then its files. Until then, readers see a complete earlier
    version.
    """
    folder = layout.published_folder(run_name)
    for name in reversed((*WRITTEN, *OF_ATTRIBUTES)):
        if name in PUBLISHED | OF_ATTRIBUTES:
            log = f"{folder}/{name}/_delta_log"
            for file in reversed(lake.list(log)):  # _last_checkpoint, then the newest version
                if file[0].isdigit() or file == "_last_checkpoint":
                    lease.delete(f"{log}/{file}")
        else:
            lease.delete(f"{folder}/{name}")
    lease.delete(index_path(run_name))  # before its files
    lease.delete_folder(folder)
