"""When a run commits: size and age of segments, and distance of snapshots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ranklake.storage.runs.snapshot_columns import PART_PLAYERS

_STOPS = 6  # possible places of a snapshot between two others


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


class SnapshotSchedule:
    """The snapshots of one rating pass: so dense that a correction rates few unchanged rounds again.

    ``stops``: rounds before which segments end and a snapshot may be due; the last is the end of the pass. They depend
    on the data set, not on the start or the speed of the pass, so that the same rounds always share a segment.
    ``rows`` (int64[n]): participations up to the end of each round of the data set.
    ``max_snapshots``, ``gap``: maximum number of snapshots of the run; participations between two snapshots.
    ``start``, ``stop``: the pass rates rounds from ``start`` to ``stop``.
    ``newest``: last round of the newest snapshot; -1 if there is none.
    """

    def __init__(self, contests: pa.Table, start: int, stop: int, newest: int, policy: CommitPolicy) -> None:
        self.rows = np.cumsum(contests.column("n_players").to_numpy(), dtype=np.int64)
        places = np.flatnonzero(np.diff(self.rows // max(policy.snapshot_rows // _STOPS, 1), prepend=0)) + 1
        self.stops: list[int] = [*places[(places > start) & (places < stop)].tolist(), stop]
        self._start, self._newest = start, newest
        self._policy, self.max_snapshots = policy, policy.max_snapshots
        self.gap = max(policy.snapshot_rows, self._rows_until(stop) // self.max_snapshots)

    def due(self, stop: int, seconds: float) -> bool:
        """Whether a snapshot is due before round ``stop``, ``seconds`` after the pass began."""
        end = self.stops[-1]
        if stop < end:
            done = self._rows_until(stop) - self._rows_until(self._start)
            rows = self._policy.snapshot_rows
            bound = min(rows, int(self._policy.snapshot_seconds * done / seconds)) if seconds > 0 else rows
            self.gap = max(bound, self._rows_until(end) // self.max_snapshots)
            since = self._rows_until(stop) - self._rows_until(self._newest + 1)
            ahead = self._rows_until(end) - self._rows_until(stop)
            if since < self.gap or ahead < self.gap // 4:  # the end of the pass has a snapshot anyway
                return False
        self._newest = stop - 1
        return True

    def _rows_until(self, round_index: int) -> int:
        return int(self.rows[round_index - 1]) if round_index else 0
