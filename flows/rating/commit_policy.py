"""How often a run commits: the size and age at which segments close, and the distance between snapshots."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEFAULT", "CommitPolicy"]


@dataclass(frozen=True, slots=True)
class CommitPolicy:
    """When segments close and snapshots are taken.

    Attributes
    ----------
    segment_rows, remote_segment_rows : int
        A segment closes with so many rows: on a disk; in an object store, where a commit takes a tenth of a second.
    segment_seconds : float
        A segment also closes when it has been open so long.
    snapshot_rows : int
        Rows rated between two snapshots. To resume from a snapshot of all of Codeforces takes 0.15 s, to rate the
        default number of rows 0.3 s.
    snapshot_seconds : float
        Seconds of rating between two snapshots, for systems that take longer.
    max_snapshots : int
        Snapshots that a run keeps; the others are deleted.
    """

    segment_rows: int = 2_000
    remote_segment_rows: int = 50_000
    segment_seconds: float = 5.0
    snapshot_rows: int = 600_000
    snapshot_seconds: float = 5.0
    max_snapshots: int = 16


DEFAULT = CommitPolicy()  # of every run that is rated without a policy of its own
