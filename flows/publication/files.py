"""The files of what is published of a run, in the order in which a publish writes them; and their deletion."""

from __future__ import annotations

from ranklake.storage import Lake
from ranklake.storage.lake import layout
from ranklake.storage.lake.schemas import PUBLISHED
from ranklake.storage.leases.lease import Lease

__all__ = ["LATEST", "LATEST_OF", "WRITTEN", "delete_published"]

LATEST = "latest.parquet"
LATEST_OF = "latest.json"  # which version of the leaderboard that is; written last
WRITTEN = ("players", "contests", "ratings", "leaderboard", LATEST, LATEST_OF)  # in this order


def delete_published(lake: Lake, run_name: str, lease: Lease) -> None:
    """Delete what was published of a run, last things first.

    A table loses its newest versions first, then its files: whoever reads it until the end, or after this was stopped,
    finds a whole table of an earlier version or none.
    """
    folder = layout.published_folder(run_name)
    for name in reversed(WRITTEN):
        if name in PUBLISHED:
            log = f"{folder}/{name}/_delta_log"
            for file in reversed(lake.list(log)):  # _last_checkpoint, then the newest version
                if file[0].isdigit() or file == "_last_checkpoint":
                    lease.delete(f"{log}/{file}")
        else:
            lease.delete(f"{folder}/{name}")
    lease.delete_folder(folder)
