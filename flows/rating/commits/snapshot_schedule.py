"""The schedule of snapshots: dense enough that a correction rates few unchanged rounds again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from .commit_policy import CommitPolicy

_STOPS = 6  # possible places of a snapshot between two others


class SnapshotSchedule:
    """The snapshots of one rating pass.

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
