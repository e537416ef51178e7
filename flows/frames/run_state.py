"""A run in the lake after its last round and the resets since: the belief about each player, the times of rounds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels import count_events
from ranklake.rating_kernels.core.ragged import from_stored
from ranklake.storage import Dataset, LakeError, Run

from ..events.apply import belief_reset
from ..events.resets import DueReset, due_resets, pending
from ..execution.rater import BeliefColumns, mean_of_rated, select_beliefs
from ..rating.chain import required_digests
from ..results.display import Display
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
    ``reset_time``: time of the last reset after the last round, UTC seconds; None without one.
    """

    dataset: Dataset
    columns: BeliefColumns
    ends: npt.NDArray[np.int64]
    n_events: int
    last_time: int
    has_teams: bool
    reset_time: int | None = None

    @classmethod
    def read(
        cls,
        run: Run,
        dataset: Dataset | None = None,
        players: npt.NDArray[np.int64] | None = None,
        until: int | None = None,
    ) -> Self:
        """The state of a run after its last round, and the resets since then.

        ``dataset``: the data set of the run, if it is open.
        ``players``: read the beliefs of these players only: distinct numbers, ascending. Players without beliefs are
        left out.
        ``until``: resets until this time are applied, UTC seconds; by default until now.
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
        waiting = due_resets(dataset, run, ends) if dataset.events() else []
        waiting = pending(waiting, last + 1, int(time.time()) if until is None else until)
        if waiting:
            columns = _reset(run, dataset, columns, players, waiting)
        reset_time = waiting[-1].event.time_seconds if waiting else None
        has_teams = bool(contests.column("n_teams").is_valid().to_numpy()[counts].any())
        return cls(dataset, columns, ends, n_events, int(counted[-1]) if len(counted) else 0, has_teams, reset_time)


def _reset(
    run: Run,
    dataset: Dataset,
    columns: BeliefColumns,
    players: npt.NDArray[np.int64] | None,
    resets: Sequence[DueReset],
) -> BeliefColumns:
    """The beliefs after resets; ``players`` as for :meth:`RunState.read`. A mean is that of all players."""
    display = Display.of(run)
    system, params = display.system, display.params
    found = [belief_reset(one, params, dataset) for one in resets]
    if players is not None and any(one.centre is None for one in found):
        whole = _reset(run, dataset, from_stored(run.read_snapshot(run.snapshots()[-1])[0]), None, resets)
        known = players[players < len(whole["mu"])]
        return select_beliefs(system, params, whole, known)
    store = system.newcomers(params, 0)
    store.restore(columns)
    for one in found:
        one = one if players is None or one.players is None else replace(one, players=one.players[players])
        centre = mean_of_rated(store.mu, store.n_rounds) if one.centre is None else one.centre
        one.apply(system, params, store, centre)
    return store.columns()


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
