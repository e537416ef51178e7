"""Snapshots that the workers of a cluster write into the lake, each with the players that it holds."""

from __future__ import annotations

import logging

from ranklake.storage import Run
from ranklake.storage.runs.snapshots import Part

from ...common.text import with_reasons
from ...execution.rater import Rater

__all__ = ["WorkerSnapshots"]

log = logging.getLogger("ranklake.rate")


class WorkerSnapshots:
    """The snapshots of one run, as long as all workers reach the lake.

    Parameters
    ----------
    min_players
        With fewer players the driver writes the snapshots.
    n_players
        Players of the data set.
    """

    def __init__(self, run: Run, min_players: int, n_players: int) -> None:
        self._run, self._large = run, n_players >= min_players
        self._refused: Rater | None = None  # one of its workers does not write
        self._warned = False

    def write(self, rater: Rater, last_round: int) -> list[Part] | None:
        """Have the workers write the parts of a snapshot after ``last_round``; None if the driver must write it.

        If a worker cannot write, a warning names it, once a run.
        """
        if not (self._large and rater.workers) or rater is self._refused:
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
