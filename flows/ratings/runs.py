"""The beliefs and the history of a run in the lake, as of a frame."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa

from ranklake.storage import Dataset, Lake, Run
from ranklake.storage.datasets.tables.teams import Teams

from ..frames.beliefs import PlayerBeliefs
from ..frames.run_state import RunState
from ..results.display import Display
from ..results.pools import Pools
from ..results.rated_rounds import RatedRounds

_FIRST = ("round_index", "contest", "player", "time_seconds")
_OF_CONTEST = {"time_seconds": 0, "weight": 1.0, "perf_ceiling": math.inf}  # values of a removed contest, or of none


@dataclass(frozen=True, slots=True)
class RunHistory:
    """Where the history of a run is, and whether it has the columns ``team`` and ``share``."""

    lake: str
    run: str
    has_teams: bool = False

    def read(self, beliefs: PlayerBeliefs, display: Display) -> pd.DataFrame:
        """The rounds of the run, with the names of contests and players."""
        rounds = RatedRounds(Lake.open(self.lake), self.run)
        table = rounds.with_ratings(rounds.rows(), display)
        teams = (rounds.teams_of(table) or Teams.none(table.num_rows)) if self.has_teams else None
        handles = pa.array(beliefs.players).take(table.column("player").combine_chunks())
        table = table.set_column(table.column_names.index("player"), "player", handles)
        for name, unknown in _OF_CONTEST.items():
            of_round = rounds.contests_table.column(name).fill_null(unknown)
            table = table.append_column(name, of_round.take(table.column("round_index")))
        table = table.rename_columns({"contest_id": "contest"})
        if teams is not None:
            table = table.append_column("team", teams.name)
        last = ["rating", *(name for name in _OF_CONTEST if name not in _FIRST)]
        others = [name for name in table.column_names if name not in (*_FIRST, *last)]
        history: pd.DataFrame = table.select([*_FIRST, *others, *last]).to_pandas()
        return history if teams is None else history.assign(share=teams.share)

    def pools(self) -> Pools:
        """Who met whom in the run."""
        run = Run.open(Lake.open(self.lake), self.run)
        return Pools.of_run(run, Dataset.open(run.lake, run.config["dataset"]))


def run_beliefs(run: Run) -> tuple[PlayerBeliefs, int, bool]:
    """The beliefs after the last round of a run, the number of its rounds, and whether any of them has teams.

    Raises LakeError: the run has no ratings or was interrupted.
    """
    state, display = RunState.read(run), Display.of(run)
    players = state.dataset.handles().to_pylist()[: len(state.columns["mu"])]
    last_time = int(state.ends[-1])
    beliefs = PlayerBeliefs(display.system.name, display.params, players, state.columns, state.n_events, last_time)
    return beliefs, len(state.ends), state.has_teams
