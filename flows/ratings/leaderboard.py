"""The leaderboard of beliefs in memory, of now and of a day, and the ratings of groups of players."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ranklake.rating_kernels.core.beliefs import NEVER

from ..common.arguments import check_names
from ..common.text import described
from ..common.times import count_until, spelled
from ..frames.beliefs import PlayerBeliefs
from ..results.display import Display
from ..results.groups import rated_groups
from ..results.idle import idle_rating
from ..results.ranks import percentiles, places

__all__ = ["board_at", "board_of", "groups_of", "leaderboard_of"]


def board_of(beliefs: PlayerBeliefs, display: Display) -> pd.DataFrame:
    """All rated players: ``player, rating, mu, sigma, n_rounds, last_time_seconds``, which is 0 where it is unknown."""
    mu, sigma, n_rounds, last = (np.asarray(beliefs.columns[name]) for name in ("mu", "sigma", "n_rounds", "last_time"))
    rows = np.flatnonzero(n_rounds)
    last = np.where(last == NEVER, 0, last)
    return _board(
        pd.Index(beliefs.players)[rows], mu[rows], sigma[rows], n_rounds[rows], last[rows],
        display.rating(mu[rows], sigma[rows], n_rounds[rows]),
    )  # fmt: skip


def board_at(history: pd.DataFrame, display: Display, at: int) -> pd.DataFrame:
    """All players rated until a time; as :func:`ranklake.flows.answers.leaderboard.leaderboard`.

    Parameters
    ----------
    history
        All rounds, in order.
    at
        UTC seconds.

    Raises
    ------
    ValueError
        No contest had ended by then, or ``at`` is out of range.
    """
    ends = history["time_seconds"].to_numpy()
    n_rows = count_until(ends, at)
    if not n_rows:
        known = ends[ends != 0]  # 0 is unknown
        why = f"the first one ended at {spelled(int(known.min()))}" if len(known) else "the contests have no times"
        raise ValueError(f"no contest had ended by at = {spelled(at)}; {why}")
    rows = history[history["round_index"] <= history["round_index"].iloc[n_rows - 1]]
    last = rows.drop_duplicates("player", keep="last")
    latest = rows.groupby("player", sort=False)["time_seconds"].max().loc[last["player"]].to_numpy()
    mu, sigma = (last[name].to_numpy() for name in ("mu", "sigma"))
    n_rounds = (last["n_before"].to_numpy() + 1).astype(np.int32)
    sigma, rating = idle_rating(display, mu, sigma, n_rounds, latest, at)
    return _board(last["player"], mu, sigma, n_rounds, last["time_seconds"].to_numpy(), rating)


def leaderboard_of(
    board: pd.DataFrame, min_rounds: int, since: int | None, among: Collection[Any] | None = None
) -> pd.DataFrame:
    """Players with enough rounds, of whom the last is not before ``since``; best first, ties by name.

    ``place`` and ``percentile`` are those among these players.
    """
    shown = board["n_rounds"] >= max(min_rounds, 1)
    if since is not None:
        shown &= board["last_time_seconds"] >= since
    if among is not None:
        shown &= board["player"].isin(list(among))
    chosen = board[shown.to_numpy()]
    order = np.lexsort((chosen["player"].astype(str), -chosen["rating"].to_numpy()))
    chosen = chosen.iloc[order].reset_index(drop=True)
    rating = chosen["rating"].to_numpy()
    chosen.insert(0, "place", places(rating))
    return chosen.assign(percentile=percentiles(rating))


def groups_of(leaderboard: pd.DataFrame, by: Mapping[Any, Any] | pd.Series) -> pd.DataFrame:
    """The groups of the players of a leaderboard, best first, ties by name.

    Parameters
    ----------
    by
        The group of each player; players who are not in it, or whose value is missing, are in none.

    Returns
    -------
    pd.DataFrame
        ``place, group, rating, n_players, best, best_rating``.

    Raises
    ------
    TypeError
        ``by`` is no mapping and no Series, or a group is a list.
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


def _board(players: Any, mu: Any, sigma: Any, n_rounds: Any, last: Any, rating: Any) -> pd.DataFrame:
    values = {"rating": rating, "mu": mu, "sigma": sigma, "n_rounds": n_rounds, "last_time_seconds": last}
    return pd.DataFrame({"player": pd.Index(players), **values})
