"""The rated rounds of a run in the lake, read from its segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Lake
from ranklake.storage.datasets.round_teams import RoundTeams
from ranklake.storage.datasets.tables.games import GAMES_KIND
from ranklake.storage.lake.schemas import ROUNDS

from ..common.progress import ProgressCallback, not_shown
from ..results.display import Display
from ..results.rated_rounds import LeaderboardBuilder, iter_shown, open_rated, rated_contests
from ..results.run_titles import titles_of
from ..results.smoothed import RunSmoothing
from ..results.states import NO_END, States, board_table, known_ends
from ..results.titles import TitlesChoice

_OPPONENT = pa.field("opponent", pa.int32())


class LakeRows:
    """All rated rounds of a run.

    ``deviations``: the display rating is mu - deviations (sigma - its limit); by default the factor of the run's preset
    or system.
    ``titles``: by default the titles of the run; see :func:`ranklake.flows.results.run_titles.titles_of`.
    Raises ``LakeError`` if there is no such run, or it has no rounds yet.
    """

    def __init__(
        self,
        lake: Lake,
        run_name: str,
        deviations: float | None = None,
        titles: TitlesChoice = None,
        on_progress: ProgressCallback = not_shown,
    ) -> None:
        self._run, self._dataset, self._chain = open_rated(lake, run_name)
        self.display = Display.of(self._run, deviations)
        self._choice, self._on_progress = titles, on_progress

    @cached_property
    def contests_table(self) -> pa.Table:
        """The contest of each round; all but its id is null if it was removed."""
        found = rated_contests(self._chain, self._dataset)
        return found.set_column(found.schema.get_field_index("contest_id"), "contest_id", self._ids)

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        """The end of each round, UTC seconds; 0 if unknown."""
        found: npt.NDArray[np.int64] = self.contests_table.column("time_seconds").fill_null(0).to_numpy()
        return found

    @property
    def leaderboard_table(self) -> pa.Table:
        """The leaderboard after all rounds."""
        return self.board(self._read(None)[0].states())

    def states_before(self, stop: int) -> States:
        """The state of each player after the rounds before ``stop``. O(rows of these rounds)."""
        builder, latest = self._read(stop)
        states = builder.states()
        return replace(states, latest=latest[states.players])

    def board(self, states: States) -> pa.Table:
        """The leaderboard of some states."""
        titles = titles_of(self._run, self._dataset, self.display.params.mu_init, self._choice)
        return board_table(states, self.handles_of(states.players), titles)

    def handles_of(self, players: npt.NDArray[np.int32]) -> pa.Array:
        """Handles of players, given their indices."""
        return self._dataset.handles().take(pa.array(players))

    def history_rows(self, players: Sequence[int]) -> pa.Table:
        """The rated rows of the first of some players who has any, else no row; of games with the ``opponent``."""
        wanted = pa.array(players, pa.int32())
        parts = [_rows_of(table, wanted) for _, table in self._run.iter_segments(chain=self._chain)]
        rows = pa.concat_tables([ROUNDS.append(_OPPONENT).empty_table(), *parts])
        rated = set(rows.column("player").unique().to_pylist())
        rows = rows.filter(pc.equal(rows.column("player"), next((one for one in players if one in rated), -1)))
        mu, sigma, n_before = (rows.column(name).to_numpy() for name in ("mu", "sigma", "n_before"))
        teams = RoundTeams(self._dataset, self._ids).of_rows(
            *(rows.column(name).to_numpy() for name in ("round_index", "player"))
        )
        rows = rows.append_column("rating", pa.array(self.display.rating(mu, sigma, n_before + np.int32(1))))
        rows = rows.append_column("team", pa.nulls(rows.num_rows, pa.string()) if teams is None else teams.name)
        return rows if self._dataset.kind == GAMES_KIND else rows.drop_columns("opponent")

    def smoothed_rows(self, player: int) -> pa.Table | None:
        """``smooth_mu, smooth_sigma`` of a player's rounds, given all rounds; None without a current smoothing."""
        smoothing = RunSmoothing(self._run, self._chain)
        if smoothing.digest is None:
            return None
        skills = smoothing.read()
        return skills.filter(pc.equal(skills.column("player"), player)).select(["smooth_mu", "smooth_sigma"])

    @cached_property
    def _ids(self) -> pa.StringArray:
        return pa.array(self._chain.contest_ids, pa.string())

    def _read(self, stop: int | None) -> tuple[LeaderboardBuilder, npt.NDArray[np.int64]]:
        """The states after the rounds before ``stop``, and, if it is given, the latest end of each player's rounds."""
        builder = LeaderboardBuilder(self._dataset.n_players, self.contests_table, self.display)
        latest = np.full(self._dataset.n_players, NO_END)  # clocks of sources may go back, those of kernels do not
        columns, what, ends = LeaderboardBuilder.columns, f"run {self._run.name}", known_ends(self.ends)
        for _, rounds in (
            iter_shown(self._run, self._chain, 0, stop, columns, self._on_progress, what) if stop != 0 else ()
        ):
            builder.update(rounds)
            if stop is not None:
                of_rows = ends[rounds.column("round_index").to_numpy()]
                np.maximum.at(latest, rounds.column("player").to_numpy(), of_rows)
        return builder, latest


def _rows_of(table: pa.Table, players: pa.Int32Array) -> pa.Table:
    """The rows of some players, and the player of the row beside each: of games, the opponent."""
    column = table.column("player").to_numpy()
    at = np.flatnonzero(np.isin(column, players.to_numpy()))
    beside = column[np.minimum(at ^ 1, len(column) - 1)]
    return table.take(pa.array(at)).replace_schema_metadata().append_column(_OPPONENT, pa.array(beside))
