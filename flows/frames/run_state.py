"""A run in the lake after its last round: the belief about each player, and the times of its rounds."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels import count_events
from ranklake.rating_kernels.core.ragged import from_stored
from ranklake.storage import Dataset, LakeError, Run

from ..execution.rater import BeliefColumns
from ..rating.chain import required_digests
from ..results.rated_rounds import check_rated, rated_contests


@dataclass(frozen=True, slots=True)
class RunState:
    """A run after its last round.

    ``dataset``: the data set of the run.
    ``columns``: the belief about each player, by the player's number in the data set; as from ``Beliefs.columns``. Only
    those of ``players`` if these were given.
    ``ends`` (int64[rounds]): the end of each round, rated or skipped, UTC seconds; 0 if unknown.
    ``n_events``: events rated or skipped; consecutive rounds of one time are one event. Excluded contests do not count.
    ``last_time``: end of the last round that counts, UTC seconds; 0 if unknown.
    ``has_teams``: whether any round that counts has teams.
    """

    dataset: Dataset
    columns: BeliefColumns
    ends: npt.NDArray[np.int64]
    n_events: int
    last_time: int
    has_teams: bool

    @classmethod
    def read(cls, run: Run, dataset: Dataset | None = None, players: npt.NDArray[np.int64] | None = None) -> Self:
        """The state of a run.

        ``dataset``: the data set of the run, if it is open.
        ``players``: read the beliefs of these players only: distinct numbers, ascending. Players without beliefs are
        left out.
        """
        dataset = dataset or Dataset.open(run.lake, run.config["dataset"])
        last, digest, contests = _committed(run, dataset)
        if last not in run.snapshots() or run.snapshot_digest(last) != digest:
            raise LakeError(
                f"run {run.name} was interrupted after round {last}; `ranklake rate --run {run.name}` finishes it"
            )
        excluded = pc.is_in(contests.column("contest_id"), pa.array(run.config.get("exclude", []), pa.string()))
        ends = contests.column("time_seconds").fill_null(0).to_numpy()
        counts = ~excluded.to_numpy()
        counted = ends[counts]
        n_events = int(count_events(counted)[-1]) + 1 if len(counted) else 0
        columns = from_stored(run.read_snapshot(last, players)[0])
        has_teams = bool(contests.column("n_teams").is_valid().to_numpy()[counts].any())
        return cls(dataset, columns, ends, n_events, int(counted[-1]) if len(counted) else 0, has_teams)


def _committed(run: Run, dataset: Dataset) -> tuple[int, str, pa.Table]:
    """The last round of a run, its digest, and the contest of each round.

    The digest of a round depends on all rounds before. If the last one is that of the data set, its manifest is the
    only one that is read.
    """
    with suppress(LakeError):  # the manifests before an unreadable one are a valid run
        newest = run.newest_segment()
        if newest is not None and newest.n_rows:
            n_rounds = newest.stop_round
            if required_digests(run, dataset)[n_rounds - 1 : n_rounds] == [newest.last_digest]:
                return n_rounds - 1, newest.last_digest, dataset.contests.slice(0, n_rounds)
    chain = run.segments()
    check_rated(run, chain)
    return chain.stop_round - 1, chain.last_digest, rated_contests(chain, dataset)
