"""The leaderboard of ratings in memory, and the ratings of groups of players, as frames."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..answers.frame_rows import FrameRows
from ..answers.leaderboard import first_end, leaderboard
from ..common.arguments import check_names
from ..common.text import described
from ..common.times import spelled
from ..results.groups import rated_groups
from ..results.ranks import active_since, places
from ..results.ranks import among as among_each_other

_COLUMNS = ("rating", "mu", "sigma", "n_rounds", "last_time_seconds", "percentile")


def leaderboard_of(
    rows: FrameRows, at: int | None, min_rounds: int, since: int | None, among: Collection[Any] | None
) -> tuple[pd.DataFrame, list[Any]]:
    """Players with enough rounds, of whom the last is not before ``since``; best first, ties by name.

    ``place`` and ``percentile`` are those among these players. Also returns those of ``among`` without a rating.

    Raises ValueError: no contest had ended by ``at``, or it is out of range.
    """
    board = leaderboard(rows, at)
    if at is not None and not board.num_rows:
        why = first_end(rows, "the first one", "the contests")
        raise ValueError(f"no contest had ended by at = {spelled(at)}; {why}")
    players = rows.players.take(board.column("player").to_numpy())
    shown = board.column("n_rounds").to_numpy() >= max(min_rounds, 1)
    if since is not None:
        shown &= active_since(board, since)
    unknown: list[Any] = []
    if among is not None:
        shown &= players.isin(list(among))
        rated = set(players)
        unknown = [player for player in among if player not in rated]
    board = among_each_other(board, shown)
    columns = {name: board.column(name).to_numpy() for name in _COLUMNS}
    return pd.DataFrame({"place": board.column("place").to_numpy(), "player": players[shown], **columns}), unknown


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
