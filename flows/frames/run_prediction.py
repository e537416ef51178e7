"""Predict the next round of a run in the lake."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels import count_events
from ranklake.rating_kernels.core.ragged import from_stored
from ranklake.storage import Dataset, Lake, LakeError, Run

from ..results.display import Display
from ..results.leaderboard import check_rated, rated_contests
from ..results.players import candidate_names
from .beliefs import select_beliefs
from .prediction import Prediction

__all__ = ["predict_run"]


def predict_run(
    lake: Lake,
    run_name: str,
    handles: Sequence[str],
    newcomers: int = 0,
    time_seconds: int | None = None,
    weight: float = 1.0,
    deviations: float | None = None,
) -> tuple[Prediction, dict[str, str]]:
    """Predict the next round of a run; also returns the rated name of the player of each handle.

    Unrated players of the data set, and ``newcomers`` more, enter as newcomers.

    Raises
    ------
    LakeError
        There is no such run, it has no ratings or was interrupted, or the data set has no such player.
    ValueError
        As for :class:`Prediction`.
    """
    run = Run.open(lake, run_name)
    dataset, chain = Dataset.open(lake, run.config["dataset"]), run.segments()
    check_rated(run, chain)
    last = chain.stop_round - 1
    if last not in run.snapshots() or run.snapshot_digest(last) != chain.last_digest:
        raise LakeError(
            f"run {run_name} was interrupted after round {last}; `ranklake rate --run {run_name}` finishes it"
        )
    columns, _ = run.read_snapshot(last)
    n_rounds = np.asarray(columns["n_rounds"])
    names, rows = {}, []
    for handle in handles:
        known = candidate_names(dataset, handle)
        rated = (name for name, row in known.items() if row < len(n_rounds) and n_rounds[row])
        names[handle] = next(rated, next(iter(known)))
        rows.append(known[names[handle]])
    players = [names[handle] for handle in handles] + [f"newcomer {i + 1}" for i in range(newcomers)]
    display = Display.of(run, deviations)
    at = np.array(rows + [-1] * newcomers, dtype=np.int64)
    selected = select_beliefs(display.system, display.params, from_stored(columns), at)
    contests = rated_contests(chain, dataset)
    excluded = pc.is_in(contests.column("contest_id"), pa.array(run.config.get("exclude", []), pa.string()))
    ends = contests.column("time_seconds").fill_null(0).to_numpy()
    events = count_events(ends[~excluded.to_numpy()])
    time_seconds = int(ends.max()) if time_seconds is None else time_seconds
    event = int(events[-1]) + 1 if len(events) else 0
    return Prediction(display, players, selected, time_seconds, event, weight), names
