"""Players with a common attribute: filters of a leaderboard, and the rating of a group. Imports no kernel."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.storage import Dataset, LakeError
from ranklake.storage.datasets.tables.aliases import NEVER, canonical

from .ranks import among, places

__all__ = ["SCALE", "group_rating", "group_table", "values_of", "where"]

SCALE = 400.0  # rating points between odds of ten to one
_HALVINGS = 80  # of a bracket of less than 1e5 points: to the last bit

Floats = npt.NDArray[np.float64]


def values_of(dataset: Dataset, attribute: str) -> dict[str, str]:
    """The value of an attribute by the current handle of each player who has one.

    An attribute recorded under an old name is the player's, unless one is recorded under the current name.

    Raises
    ------
    LakeError
        The data set has no such attribute; the message names those that it has.
    """
    rows = dataset.attributes()
    names = sorted(rows.column("attribute").unique().to_pylist())
    if attribute not in names:
        command = f"`ranklake attributes FILE --dataset {dataset.name}` records some"
        has = f"it has {', '.join(names)}" if names else command
        raise LakeError(f"data set {dataset.name} has no attribute {attribute!r}; {has}")
    own: dict[str, str] = {}
    by_alias: dict[str, str] = {}
    aliases = dataset.log().aliases
    for row in rows.to_pylist():
        if row["attribute"] == attribute:
            handle = canonical(aliases, row["handle"], NEVER)
            (own if handle == row["handle"] else by_alias)[handle] = row["value"]
    return by_alias | own


def where(board: pa.Table, values: Mapping[str, str], value: str) -> pa.Table:
    """The players of a leaderboard with a value, with their places and percentiles among each other."""
    handles = board.column("handle").to_pylist()
    return among(board, np.array([values.get(handle) == value for handle in handles], dtype=np.bool_))


def group_rating(ratings: Floats, decay: float = 1.0) -> float:
    """The rating R of a group: sum_k decay^(k-1) / (1 + 10^((R - r_k) / 400)) = 1/2, over its members, best first.

    R is the rating of a player who has even chances against all members at once: of one member, it is the member's;
    each further member adds something, a weak one next to nothing.

    Parameters
    ----------
    ratings : float64[n]
        The ratings of the members, at least one.
    decay
        The weight of a member, relative to the next better one; above 0, at most 1.

    Notes
    -----
    After the rating of countries and organisations at clist.by.
    """
    if not len(ratings) or not 0.0 < decay <= 1.0:
        raise ValueError(f"a group needs a member and a decay above 0, at most 1, got {len(ratings)} and {decay}")
    below = ratings.max() - np.sort(ratings)[::-1]  # the best member is 0
    weights = decay ** np.arange(len(below))
    # At the best member the sum is at least 1/2. Each term is at most its weight 10^(-R / 400), which bounds the root.
    low, high = 0.0, SCALE * float(np.log10(2.0 * weights.sum()))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        chance = 0.5 - 0.5 * np.tanh((middle + below) * (0.5 * np.log(10.0) / SCALE))
        low, high = (middle, high) if float(weights @ chance) > 0.5 else (low, middle)
    return float(ratings.max()) + low


def group_table(board: pa.Table, values: Mapping[str, str], decay: float = 1.0) -> pa.Table:
    """The groups of the players of a leaderboard, best first, ties by name; players without a value are in none.

    Returns
    -------
    pa.Table
        ``place, group, rating, n_players, best, best_rating``: the group's value of the attribute, its rating
        (:func:`group_rating`), its size, and its best player.
    """
    members: dict[str, list[int]] = {}
    for row, handle in enumerate(board.column("handle").to_pylist()):
        if handle in values:
            members.setdefault(values[handle], []).append(row)
    rating, handles = board.column("rating").to_numpy(), board.column("handle")
    rated = [(group_rating(rating[rows], decay), group, rows) for group, rows in members.items()]
    rated.sort(key=lambda one: (-one[0], one[1]))
    best = [rows[0] for _, _, rows in rated]
    columns = {
        "place": pa.array(places(np.array([one[0] for one in rated])), pa.int64()),
        "group": pa.array([group for _, group, _ in rated], pa.string()),
        "rating": pa.array([value for value, _, _ in rated], pa.float64()),
        "n_players": pa.array([len(rows) for _, _, rows in rated], pa.int64()),
        "best": handles.take(pa.array(best, pa.int64())),
        "best_rating": pa.array(rating[best], pa.float64()),
    }
    return pa.table(columns)
