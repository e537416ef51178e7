"""The beliefs and the history of a run in the lake, as of a frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels import count_events
from ranklake.rating_kernels.core.ragged import from_stored
from ranklake.storage import Dataset, Lake, LakeError, Run

from ..frames.beliefs import PlayerBeliefs
from ..results.display import Display
from ..results.leaderboard import check_rated, rated_contests

__all__ = ["RunHistory", "run_beliefs"]

_FIRST = ("round_index", "contest", "player", "time_seconds")


@dataclass(frozen=True, slots=True)
class RunHistory:
    """Where the history of a run is."""

    lake: str
    run: str

    def read(self, beliefs: PlayerBeliefs, display: Display) -> pd.DataFrame:
        """The rounds of the run, with the names of contests and players."""
        lake = Lake.open(self.lake)
        run = Run.open(lake, self.run)
        chain, dataset = run.segments(), Dataset.open(lake, run.config["dataset"])
        table = pa.concat_tables([part.replace_schema_metadata() for _, part in run.iter_segments(chain=chain)])
        ends = rated_contests(chain, dataset).column("time_seconds").fill_null(0)
        handles = pa.array(beliefs.players).take(table.column("player").combine_chunks())
        table = table.set_column(table.column_names.index("player"), "player", handles)
        table = table.append_column("time_seconds", ends.take(table.column("round_index")))
        table = table.rename_columns({"contest_id": "contest"})
        mu, sigma, n_before = (table.column(name).to_numpy() for name in ("mu", "sigma", "n_before"))
        table = table.append_column("rating", pa.array(display.rating(mu, sigma, n_before + np.int32(1))))
        others = [name for name in table.column_names if name not in _FIRST]
        history: pd.DataFrame = table.select([*_FIRST, *others]).to_pandas()
        return history


def run_beliefs(run: Run) -> tuple[PlayerBeliefs, int]:
    """The beliefs after the last round of a run, and the number of its rounds.

    Raises
    ------
    LakeError
        The run has no ratings or was interrupted.
    """
    dataset, chain = Dataset.open(run.lake, run.config["dataset"]), run.segments()
    check_rated(run, chain)
    last = chain.stop_round - 1
    if last not in run.snapshots() or run.snapshot_digest(last) != chain.last_digest:
        raise LakeError(
            f"run {run.name} was interrupted after round {last}; `ranklake rate --run {run.name}` finishes it"
        )
    columns = from_stored(run.read_snapshot(last)[0])
    display = Display.of(run)
    contests = rated_contests(chain, dataset)
    excluded = pc.is_in(contests.column("contest_id"), pa.array(run.config.get("exclude", []), pa.string()))
    ends = contests.column("time_seconds").fill_null(0).to_numpy()
    events = count_events(ends[~excluded.to_numpy()])
    players = dataset.handles().to_pylist()[: len(columns["mu"])]
    n_events = int(events[-1]) + 1 if len(events) else 0
    return PlayerBeliefs(display.system.name, display.params, players, columns, n_events, int(ends[-1])), last + 1
