"""Ratings in memory as frames and figures: the leaderboard, groups of players, players over time, a histogram."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from ranklake.storage.lake.schemas import PLACES, SEASON_COLUMNS
from ranklake.storage.names.hints import unknown_names

from ..answers.frame_rows import FrameRows
from ..answers.leaderboard import first_end, leaderboard, season_leaderboard
from ..answers.seasonal.figures import SEASON_ROUNDS
from ..common.arguments import check_names
from ..common.text import count, described
from ..common.times import parse_time, spelled
from ..events.seasons import Season
from ..frames.notebook import warn_user
from ..plotting.figures import drawing, new_figure
from ..plotting.plots import MOST_PLAYERS, histogram, players_figure
from ..results.components import groups_in, in_component, with_large
from ..results.groups import rated_groups
from ..results.places import PlaceOptions, places
from ..results.player_names import PlayerHistory
from ..results.ranks import active_since, chosen, ranked
from ..results.rating_format import RatingFormat
from ..results.titles import NONE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = (
    "rating", "mu", "sigma", "n_rounds", "last_time_seconds", "percentile", "component", *PLACES.names,
    *SEASON_COLUMNS.names,
)  # fmt: skip
_DRAWN = ("round_index", "time_seconds", "perf", "mu", "sigma", "rating")


def leaderboard_of(
    rows: FrameRows,
    at: Any,
    since: Any,
    among: Collection[Any] | None,
    options: PlaceOptions,
    provisional: str,
    component: int | None = None,
    season: Season | None = None,
) -> pd.DataFrame:
    """Players of whom the last round is not before ``since``; best first, ties by name.

    Places and percentiles are among these players, within the ``component`` if two are large. Warns of those of
    ``among`` without a rating. ``attrs`` has ``n_provisional``, the number of provisional players.
    ``season``: the state at its end, with ``SEASON_COLUMNS``, whose rounds alone make a place.

    Raises ValueError: no contest had ended by ``at``, or a time is none.
    """
    at, since = (None if time is None else parse_time(time, name) for time, name in ((at, "at"), (since, "since")))
    if among is not None:
        check_names(among)
    everybody = leaderboard(rows, at) if season is None else season_leaderboard(rows, season)
    rounds = "n_rounds" if season is None else SEASON_ROUNDS
    board = with_large(everybody, options.min_rounds)
    if at is not None and not board.num_rows:
        why = first_end(rows, "the first one", "the contests")
        raise ValueError(f"no contest had ended by at = {spelled(at)}; {why}")
    players = rows.players.take(board.column("player").to_numpy())
    shown = np.ones(board.num_rows, np.bool_)
    if since is not None:
        shown &= active_since(board, since)
    if component is not None:
        shown &= in_component(everybody, component)
    if among is not None:
        shown &= players.isin(list(among))
        rated = set(players)
        if unknown := [player for player in among if player not in rated]:
            warn_user(f"among has players without a rating: {unknown_names(unknown, set(rows.players))}")
    board = board.append_column("row", pa.array(np.arange(board.num_rows))).filter(pa.array(shown))
    board = ranked(board, options, rows.display.system.uncertainty, groups_in(board), rounds)
    n_provisional = chosen(board, "only").num_rows
    board = chosen(board, provisional)
    names = [name for name in _COLUMNS if name in board.column_names]
    columns = {name: _column(board.column(name)) for name in ("place", *names)}
    frame = pd.DataFrame({"place": columns.pop("place"), "player": players[board.column("row").to_numpy()], **columns})
    frame.attrs["n_provisional"] = n_provisional
    return frame


def _column(values: pa.ChunkedArray) -> Any:
    """A column for pandas; whole numbers stay whole where some are missing."""
    if values.null_count and pa.types.is_integer(values.type):
        return pd.array(values.to_pylist(), "Int64")
    return values.to_numpy()


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


def players_of(
    history: pd.DataFrame, players: Sequence[Any], name: str, form: RatingFormat, seasons: Sequence[Season] = ()
) -> Figure:
    """The ratings of some players over time, with the seasons."""
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
        return players_figure(drawn, name, seasons)


def distribution_of(ratings: npt.NDArray[np.float64], name: str) -> Figure:
    """A histogram of ratings."""
    if not len(ratings):
        raise ValueError("there are no ratings to draw")
    with drawing("a figure"):
        figure, axes = new_figure()
        histogram(axes, ratings, NONE)
        axes.set_title(f"ratings in {name}: {count(len(ratings), 'player')}")
        return figure
