"""The rated rounds of a run in the lake, read from its segments."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels.smoothing.dates import Path
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.storage import Lake
from ranklake.storage.lake.schemas import ROUNDS

from ..common.progress import ProgressCallback, not_shown
from ..entrants.explained import explained_by
from ..events.seasons import reset_rounds, seasons_of
from ..results.display import Display
from ..results.places import PlaceOptions
from ..results.rated_rounds import LeaderboardBuilder, RatedRounds
from ..results.smoothed import RunSmoothing, times_of_rows
from ..results.states import NO_END, States, board_table, known_ends
from ..results.titles import TitlesChoice
from .dates import SmoothedPlayer
from .seasonal.figures import Columns

_PATH = ("smooth_mu", "smooth_sigma", "log_gain", "round_index")
_OPPONENT, _POINTS = pa.field("opponent", pa.int32()), pa.field("points", pa.float64())


class LakeRows(RatedRounds):
    """All rated rounds of a run; ``deviations`` and ``titles`` as for :class:`.rated_run.RatedRun`."""

    def __init__(
        self,
        lake: Lake,
        run_name: str,
        deviations: float | None = None,
        titles: TitlesChoice = None,
        on_progress: ProgressCallback = not_shown,
    ) -> None:
        super().__init__(lake, run_name)
        self.display = Display.of(self.run, deviations)
        self._titles, self._on_progress = titles, on_progress
        self.places, self.uncertainty = PlaceOptions.of_run(self.run), self.display.system.uncertainty

    @property
    def leaderboard_table(self) -> pa.Table:
        builder = self._read(None)[0]
        builder.reset_until(int(time.time()))
        return self.board(replace(builder.states(), components=self.components()))

    def states_before(self, stop: int, until: int | None = None) -> States:
        builder, latest = self._read(stop)
        if until is not None:
            builder.reset_until(until)
        states = builder.states()
        return replace(states, latest=latest[states.players], components=self.components(stop))

    def board(self, states: States) -> pa.Table:
        titles = self.format(self.display, self._titles).titles
        return board_table(states, self.handles_of(states.players), titles, self.places, self.uncertainty)

    @cached_property
    def reset_rounds(self) -> npt.NDArray[np.int64]:
        return reset_rounds(seasons_of(self.dataset.events(), self.ends))

    def season_rows(self, first: int, stop: int) -> Iterator[Columns]:
        names = ("player", "round_index", "mu_prior", "sigma_prior", "mu", "sigma", "n_before")
        for _, table in self.walk(first, stop, names, self._on_progress) if first < stop else ():
            rows = self.with_ratings(table, self.display)
            yield {name: rows.column(name).to_numpy() for name in rows.column_names}

    def history_rows(self, players: Sequence[int]) -> pa.Table:
        wanted = pa.array(players, pa.int32())
        parts = [self._rows_of(table, wanted) for _, table in self.walk()]
        rows = pa.concat_tables([ROUNDS.append(_OPPONENT).append(_POINTS).empty_table(), *parts])
        rated = set(rows.column("player").unique().to_pylist())
        rows = rows.filter(pc.equal(rows.column("player"), next((one for one in players if one in rated), -1)))
        rows = self.with_ratings(rows, self.display)
        teams = self.teams_of(rows)
        team = pa.nulls(rows.num_rows, pa.string()) if teams is None else teams.name
        rows = rows.append_column("team", team)
        return rows if self.of_games else rows.drop_columns("opponent")

    def smoothed_rows(self, player: int) -> pa.Table | None:
        """``smooth_mu, smooth_sigma`` of a player's rounds, given all rounds; None without a current smoothing."""
        smoothing = RunSmoothing(self.run, self.chain)
        if smoothing.digest is None:
            return None
        skills = smoothing.read()
        return skills.filter(pc.equal(skills.column("player"), player)).select(["smooth_mu", "smooth_sigma"])

    def smoothed_player(self, players: Sequence[int]) -> tuple[int, SmoothedPlayer] | None:
        """The first of some players who has smoothed rounds, and these; None if nobody has any.

        Raises ``LakeError``, which names the remedy, without a current smoothing with gains.
        """
        smoothing = RunSmoothing(self.run, self.chain)
        rows, params = smoothing.read_with_gains(), Smoothing(**smoothing.params)
        number = rows.column("player").to_numpy()
        for player in players:
            at = np.flatnonzero(number == player)
            if len(at):
                found = rows.take(pa.array(at))
                mean, sigma, log_gain, index = (found.column(name).to_numpy() for name in _PATH)
                sizes = self.contests_table.column("n_players").fill_null(2).to_numpy()
                times = times_of_rows(self, rows.column("round_index").to_numpy())[at]
                return player, SmoothedPlayer(Path(mean, np.square(sigma), log_gain), times, sizes[index], params)
        return None

    def _rows_of(self, table: pa.Table, players: pa.Int32Array) -> pa.Table:
        """The rows of some players with their points, and the player of the row beside each: of games, the opponent."""
        column, index = (table.column(name).to_numpy() for name in ("player", "round_index"))
        at = np.flatnonzero(np.isin(column, players.to_numpy()))
        beside = column[np.minimum(at ^ 1, len(column) - 1)]
        whole = np.flatnonzero(np.isin(index, index[at]))  # their rounds: a player may have several games in one
        points = self.points_of(table.take(pa.array(whole))).take(pa.array(np.searchsorted(whole, at)))
        rows = table.take(pa.array(at)).replace_schema_metadata().append_column(_OPPONENT, pa.array(beside))
        return rows.append_column(_POINTS, points)

    def _read(self, stop: int | None) -> tuple[LeaderboardBuilder, npt.NDArray[np.int64]]:
        """The states after the rounds before ``stop``, and, if it is given, the latest end of each player's rounds."""
        builder, ends = self.builder(self.display, explained_by(self)), known_ends(self.ends)
        latest = np.full(self.dataset.n_players, NO_END)  # clocks of sources may go back, those of kernels do not
        for _, rounds in self.walk(0, stop, builder.columns, self._on_progress) if stop != 0 else ():
            builder.update(rounds)
            if stop is not None:
                of_rows = ends[rounds.column("round_index").to_numpy()]
                np.maximum.at(latest, rounds.column("player").to_numpy(), of_rows)
        if stop is not None:
            builder.reset_before(stop)
        return builder, latest
