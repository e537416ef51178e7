"""One player's rated rounds, found under any of the player's names."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Dataset, Lake, LakeError, Run
from ranklake.storage.datasets.round_teams import RoundTeams
from ranklake.storage.datasets.tables.games import GAMES_KIND
from ranklake.storage.lake.schemas import ROUNDS

from ..common.titles import TitlesChoice
from .display import Display
from .leaderboard import check_rated, rated_contests
from .player_names import PlayerHistory, alias_note, candidate_names
from .rating_format import RatingFormat
from .run_titles import titles_of
from .smoothed import RunSmoothing

__all__ = ["player_history"]

_OPPONENT = pa.field("opponent", pa.int32())


def player_history(
    lake: Lake,
    run_name: str,
    handle: str,
    deviations: float | None = None,
    titles: TitlesChoice = None,
    smoothed: bool = False,
) -> PlayerHistory:
    """All rated rounds of one player in order, with the contests; old names lead to the current one.

    Rows of games have the ``opponent``.

    Parameters
    ----------
    deviations, titles
        See :func:`ranklake.flows.results.leaderboard.leaderboard`.
    smoothed
        Also the skills of the smoothing, if the run has a current one.

    Raises
    ------
    LakeError
        The data set has no such handle (the message names similar ones), or the run has not rated the player.
    """
    run = Run.open(lake, run_name)
    dataset = Dataset.open(lake, run.config["dataset"])
    players = candidate_names(dataset, handle)
    wanted = pa.array(players.values(), pa.int32())
    chain = run.segments()
    check_rated(run, chain)
    parts = [_rows_of(table, wanted) for _, table in run.iter_segments(chain=chain)]
    rows = pa.concat_tables([ROUNDS.append(_OPPONENT).empty_table(), *parts])
    rated = set(rows.column("player").unique().to_pylist())
    shown = next((name for name, player in players.items() if player in rated), None)
    if shown is None:
        raise LakeError(f"player {handle!r} has no rated rounds in run {run_name}")
    rows = rows.filter(pc.equal(rows.column("player"), players[shown]))
    contests = rated_contests(chain, dataset).select(["name", "time_seconds", "n_players"])
    contests = contests.take(rows.column("round_index"))
    for name in contests.column_names:
        rows = rows.append_column(name, contests.column(name))
    mu, sigma, n_before = (rows.column(name).to_numpy() for name in ("mu", "sigma", "n_before"))
    display = Display.of(run, deviations)
    rows = rows.append_column("rating", pa.array(display.rating(mu, sigma, n_before + np.int32(1))))
    ids = [contest for segment in chain.segments for contest in segment.contest_ids]
    teams = RoundTeams(dataset, ids).of_rows(*(rows.column(name).to_numpy() for name in ("round_index", "player")))
    rows = rows.append_column("team", pa.nulls(rows.num_rows, pa.string()) if teams is None else teams.name)
    opponents = rows.column("opponent")
    rows = rows.drop_columns("opponent")
    if dataset.kind == GAMES_KIND:
        rows = rows.append_column("opponent", dataset.handles().take(opponents.combine_chunks()))
    smoothing = RunSmoothing(run, chain) if smoothed else None
    if smoothing is not None and smoothing.digest is not None:
        skills = smoothing.read()
        skills = skills.filter(pc.equal(skills.column("player"), players[shown]))
        for name in ("smooth_mu", "smooth_sigma"):
            rows = rows.append_column(name, skills.column(name))
    form = RatingFormat(titles_of(run, dataset, display.params.mu_init, titles), display.decimals)
    return PlayerHistory(shown, rows, alias_note(dataset, handle, shown), form)


def _rows_of(table: pa.Table, players: pa.Int32Array) -> pa.Table:
    """The rows of some players, and the player of the row beside each: of games, the opponent."""
    column = table.column("player").to_numpy()
    at = np.flatnonzero(np.isin(column, players.to_numpy()))
    beside = column[np.minimum(at ^ 1, len(column) - 1)]
    return table.take(pa.array(at)).replace_schema_metadata().append_column(_OPPONENT, pa.array(beside))
