"""Ratings in memory as frames and figures: the leaderboard, groups of players, players over time, a histogram."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from ranklake.storage.names.hints import unknown_names

from ..answers.frame_rows import FrameRows
from ..answers.leaderboard import first_end, leaderboard
from ..common.arguments import check_names
from ..common.text import count, described
from ..common.times import parse_time, spelled
from ..frames.notebook import warn_user
from ..plotting.figures import drawing, new_figure
from ..plotting.plots import MOST_PLAYERS, histogram, players_figure
from ..results.groups import rated_groups
from ..results.places import places
from ..results.player_names import PlayerHistory
from ..results.ranks import active_since
from ..results.ranks import among as among_each_other
from ..results.rating_format import RatingFormat
from ..results.titles import NONE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = ("rating", "mu", "sigma", "n_rounds", "last_time_seconds", "percentile")
_DRAWN = ("round_index", "time_seconds", "perf", "mu", "sigma", "rating")


def leaderboard_of(
    rows: FrameRows, at: Any, min_rounds: int, since: Any, among: Collection[Any] | None
) -> pd.DataFrame:
    """Players with enough rounds, of whom the last is not before ``since``; best first, ties by name.

    ``place`` and ``percentile`` are those among these players. Warns of those of ``among`` without a rating.

    Raises ValueError: no contest had ended by ``at``, or a time is none.
    """
    at, since = (None if time is None else parse_time(time, name) for time, name in ((at, "at"), (since, "since")))
    if among is not None:
        check_names(among)
    board = leaderboard(rows, at)
    if at is not None and not board.num_rows:
        why = first_end(rows, "the first one", "the contests")
        raise ValueError(f"no contest had ended by at = {spelled(at)}; {why}")
    players = rows.players.take(board.column("player").to_numpy())
    shown = board.column("n_rounds").to_numpy() >= max(min_rounds, 1)
    if since is not None:
        shown &= active_since(board, since)
    if among is not None:
        shown &= players.isin(list(among))
        rated = set(players)
        if unknown := [player for player in among if player not in rated]:
            warn_user(f"among has players without a rating: {unknown_names(unknown, set(rows.players))}")
    board = among_each_other(board, shown)
    columns = {name: board.column(name).to_numpy() for name in _COLUMNS}
    return pd.DataFrame({"place": board.column("place").to_numpy(), "player": players[shown], **columns})


def groups_of(leaderboard: pd.DataFrame, by: Mapping[Any, Any] | pd.Series) -> pd.DataFrame:
    """The groups of the players of a leaderboard, best first, ties by name.

    ``by``: the group of each player; players who are not in it, or whose value is missing, are in none.
    Returns pd.DataFrame: ``place, group, rating, n_players, best, best_rating``.
    Raises TypeError: ``by`` is no mapping and no Series, or a group is a list.
    """
    if not isinstance(by, Mapping | pd.Series):
        raise TypeError(f"by must be a mapping or a Series with the group of each player, got {described(by)}")
    check_names(by.values() if isinstance(by, Mapping) else by, "a group")
    of, groups = pd.factorize(leaderboard["player"].map(by))
    rating = leaderboard["rating"].to_numpy()
    best, level, sizes = rated_groups(rating, of.astype(np.int64))
    order = np.lexsort((np.asarray(groups).astype(str), -level))
    columns = {"group": groups[order], "rating": level[order], "n_players": sizes[order]}
    columns |= {"best": leaderboard["player"].to_numpy()[best[order]], "best_rating": rating[best[order]]}
    return pd.DataFrame({"place": places(level[order]), **columns})


def players_of(history: pd.DataFrame, players: Sequence[Any], name: str, form: RatingFormat) -> Figure:
    """The ratings of some players over time."""
    if not 1 <= len(players) <= MOST_PLAYERS:
        raise ValueError(f"a figure shows 1 to {MOST_PLAYERS} players, got {len(players)}")
    drawn = []
    for player in players:
        rows = history[history["player"] == player]
        if rows.empty:
            raise ValueError(f"player {player!r} has no rated round")
        table = pa.table({column: rows[column].to_numpy() for column in _DRAWN})
        drawn.append(PlayerHistory(str(player), table, "", form))
    with drawing("a figure"):
        return players_figure(drawn, name)


def distribution_of(ratings: npt.NDArray[np.float64], name: str) -> Figure:
    """A histogram of ratings."""
    if not len(ratings):
        raise ValueError("there are no ratings to draw")
    with drawing("a figure"):
        figure, axes = new_figure()
        histogram(axes, ratings, NONE)
        axes.set_title(f"ratings in {name}: {count(len(ratings), 'player')}")
        return figure
