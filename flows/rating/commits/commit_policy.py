"""When a run commits: size and age of segments, and distance of snapshots."""

from __future__ import annotations

from dataclasses import dataclass

from ranklake.storage.runs.snapshot_columns import PART_PLAYERS


@dataclass(frozen=True, slots=True)
class CommitPolicy:
    """Limits of segments and snapshots.

    ``segment_rows``: number of rows at which a segment closes. Rating one takes about 50 ms; a commit takes a few
    milliseconds on a disk and 0.1 s in an object store.
    ``segment_seconds``: time after which a segment closes.
    ``commit_segments``, ``commit_seconds``: segments are committed together: so many, or those of that time. A commit
    waits for the disk four times.
    ``snapshot_rows``: rows between two snapshots. Resuming from a snapshot of all of Codeforces takes 0.15 s; rating
    the default number of rows takes 0.5 s.
    ``snapshot_seconds``: seconds of rating between two snapshots, for systems that take longer.
    ``max_snapshots``: maximum number of snapshots of a run; others are deleted.
    ``worker_snapshot_players``: players from which the workers of a cluster write the snapshots; those of fewer are one
    file.
    """

    segment_rows: int = 50_000
    segment_seconds: float = 5.0
    commit_segments: int = 8
    commit_seconds: float = 0.5
    snapshot_rows: int = 1_400_000
    snapshot_seconds: float = 5.0
    max_snapshots: int = 16
    worker_snapshot_players: int = PART_PLAYERS + 1


DEFAULT = CommitPolicy()  # for runs without a policy of their own
