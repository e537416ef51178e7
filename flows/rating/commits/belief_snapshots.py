"""Snapshots of beliefs, written by what holds them: this process, or each worker of a cluster for its players."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from ranklake.storage import Run
from ranklake.storage.runs.snapshot_columns import PART_PLAYERS
from ranklake.storage.runs.snapshots import EncodedPart, Part, encode_part

from ...common.text import with_reasons
from ...execution.local import LocalRater
from ...execution.rater import Rater

log = logging.getLogger("ranklake.rate")


class BeliefSnapshots:
    """The snapshots of one run. Workers write them as long as all reach the lake.

    ``workers_write``: whether there are so many players that workers write them.
    """

    def __init__(self, run: Run, workers_write: bool) -> None:
        self._run, self._workers_write = run, workers_write
        self._refused: Rater | None = None  # one of its workers does not write
        self._warned = False

    def take(self, rater: Rater, last_round: int) -> Callable[[str], None]:
        """A function that commits the current beliefs as those after ``last_round``, given their chain digest."""
        if parts := self._of_workers(rater, last_round):
            return partial(self._run.commit_parts, last_round, parts)
        if isinstance(rater, LocalRater):
            return partial(self._run.write_encoded, last_round, encode_beliefs(rater))
        return partial(self._run.write_snapshot, last_round, rater.columns())

    def _of_workers(self, rater: Rater, last_round: int) -> list[Part] | None:
        """The parts that the workers have written; None if the driver must write the snapshot.

        If a worker cannot write, a warning names it, once a run.
        """
        if not (self._workers_write and rater.workers) or rater is self._refused:
            return None
        results = self._run.write_parts(last_round, rater.hand_over)
        refused = {worker: why for worker, why in zip(rater.workers, results, strict=True) if isinstance(why, str)}
        if not refused:
            return [part for result in results if not isinstance(result, str) for part in result]
        self._refused = rater
        if not self._warned:
            self._warned = True
            log.warning(
                "run %s: the driver writes the snapshots, as these workers cannot write into the lake: %s",
                self._run.name, with_reasons(refused),
            )  # fmt: skip
        return None


def encode_beliefs(rater: LocalRater) -> list[EncodedPart]:
    """The parts of a snapshot of the current beliefs.

    The rating waits meanwhile. A copy of all beliefs, for a thread that would encode them later, costs more than the
    rating gains: the system clears its memory before the copy is made. The parts have half of its size.
    """
    return rater.map_columns(PART_PLAYERS, lambda columns: encode_part(columns, 0, len(columns["mu"])))
