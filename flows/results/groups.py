"""Players with a common attribute: filters of a leaderboard, and the ratings of groups and of teams. Imports no kernel.

The rating of a group is the solution of a sum of chances, the level of a team that of a product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Dataset, LakeError
from ranklake.storage.datasets.player_attributes import player_attributes
from ranklake.storage.lake.schemas import OF_ATTRIBUTES

from ..common.text import quoted
from .attributes import attribute_names, grouping, values_of
from .places import places

SCALE = 400.0  # rating points between odds of ten to one
_HALVINGS = 80  # of a bracket of less than 1e5 points: to the last bit

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


def board_values(dataset: Dataset, attribute: str, board: pa.Table) -> pa.DictionaryArray:
    """The value of an attribute for each row of a leaderboard, null without one; ``LakeError`` if it is unknown."""
    names = attribute_names(dataset.attributes())
    if attribute not in names:
        command = f"`ranklake attributes FILE --dataset {dataset.name}` records some"
        has = f"it has {', '.join(names)}" if names else command
        raise LakeError(f"data set {dataset.name} has no attribute {attribute!r}; {has}")
    return values_of(player_attributes(dataset), attribute, board.column("player"))


def check_value(attribute: str, values: pa.DictionaryArray, value: str) -> None:
    """Raise ``LakeError``, which names similar ones, for a value that no player of the data set has."""
    known = values.dictionary.to_pylist()
    if value not in known:
        folded = {one.casefold(): one for one in known}
        near = " or ".join(quoted(folded[one]) for one in get_close_matches(value.casefold(), folded, 3))
        raise LakeError(f"no player has {attribute} {quoted(value)}{near and f'; did you mean {near}?'}")


def has_value(values: pa.DictionaryArray, value: str) -> npt.NDArray[np.bool_]:
    """Which of ``values`` are equal to ``value``."""
    at = pc.index_in(pa.scalar(value), value_set=values.dictionary).as_py()
    return np.zeros(len(values), np.bool_) if at is None else _codes(values) == at


def group_level(ratings: Sequence[float]) -> float:
    """The level R with prod_k 1 / (1 + 10^((r_k - R) / 400)) = 1/2.

    ``ratings``: rating of each member, finite; points of which 400 are odds of ten to one.
    Returns at least the highest rating, and that of a single member; to the last bit independent of the order.
    Raises ``ValueError`` if the group is empty, or a rating is not finite.

    The probability rises with R, so bisection finds R to the last bit. Added to all ratings, a constant is added to the
    level. It is the level of a team in rounds with ``team=best``. For n equal members it is higher than their rating by
    400 log10(1 / (2^(1/n) - 1)), that of :func:`group_ratings` by 400 log10(2n - 1).
    """
    r = np.sort(np.asarray(ratings, np.float64))
    if not len(r) or not np.isfinite(r).all():
        raise ValueError("a group needs at least one member, and finite ratings")
    highest = float(r[-1])
    if len(r) == 1:
        return highest
    below = np.maximum((r - highest) / SCALE, -400.0)
    low, high = 0.0, math.log10(len(r) / math.log(2.0))  # above the highest; n log(1 + x) <= n x
    while low < (middle := low + (high - low) / 2) < high:
        surplus = float(np.log1p(10.0 ** np.maximum(below - middle, -400.0)).sum()) - math.log(2.0)
        low, high = (middle, high) if surplus > 0.0 else (low, middle)
    return highest + SCALE * high


def team_of(board: pa.Table, rows: Sequence[int], note: str) -> dict[str, Any]:
    """The ``rating`` of a team of some rows of a leaderboard, its ``players``, each once, and a ``note``."""
    members = board.select(["handle", "rating"]).take(pa.array(dict.fromkeys(rows), pa.int64()))
    return {"rating": group_level(members["rating"].to_pylist()), "players": members.to_pylist(), "note": note}


def group_ratings(ratings: Floats, starts: Longs) -> Floats:
    """The rating R of each of several groups: sum_k 1 / (1 + 10^((R - r_k) / 400)) = 1/2, over its members.

    R is the rating of a player who finishes behind half a member on average. A group of one has the rating of its
    member; each further member adds to it, a weak one next to nothing. To the bit independent of the other groups.

    ``ratings`` (float64[n]): of all members, rating points; group after group, best first in each.
    ``starts`` (int64[m]): the first member of each group, ascending from 0.

    After the rating of countries and organisations at clist.by.
    """
    if not len(starts):
        return np.zeros(0)
    sizes = np.diff(starts, append=len(ratings))
    group = np.repeat(np.arange(len(starts)), sizes)
    below = ratings[starts][group] - ratings  # the best member is 0
    # At the best member the sum is at least 1/2. Each term is at most 10^(-R / 400), which bounds the root.
    low, high = np.zeros(len(starts)), SCALE * np.log10(2.0 * sizes)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        chance = 0.5 - 0.5 * np.tanh((middle[group] + below) * (0.5 * np.log(10.0) / SCALE))
        above = np.add.reduceat(chance, starts) > 0.5
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return ratings[starts] + low


def rated_groups(rating: Floats, of: Longs) -> tuple[Longs, Floats, Longs]:
    """The row of the best member, the rating and the size of each group, in order of their numbers.

    ``rating`` (float64[n]): of each player, best first; ``of`` (int64[n]): the number of the group, -1 for none.
    """
    rows = np.flatnonzero(of >= 0)
    rows = rows[np.argsort(of[rows], kind="stable")]  # group after group, best first in each
    starts = np.flatnonzero(np.diff(of[rows], prepend=-1))
    return rows[starts], group_ratings(rating[rows], starts), np.diff(starts, append=len(rows))


def group_table(board: pa.Table, values: pa.DictionaryArray) -> pa.Table:
    """The groups of the players of a leaderboard, best first, ties by name; players without a value are in none.

    ``values``: the group of each row. Returns ``place, group, rating, n_players, best, best_rating`` of each: of its
    best player the last two.
    """
    of, rating = _codes(values), board.column("rating").to_numpy()
    best, level, sizes = rated_groups(rating, of)
    table = pa.table(
        {
            "group": values.dictionary.take(pa.array(of[best])),
            "rating": level,
            "n_players": sizes,
            "best": board.column("handle").take(pa.array(best)),
            "best_rating": rating[best],
        }
    ).sort_by([("rating", "descending"), ("group", "ascending")])
    return table.add_column(0, "place", pa.array(places(table.column("rating").to_numpy())))


def groups_of(board: pa.Table, attributes: pa.Table) -> pa.Table:
    """The groups of all attributes but the name, by attribute and place; columns as in ``OF_ATTRIBUTES["groups"]``."""
    schema, tables = OF_ATTRIBUTES["groups"], []
    for name in grouping(attribute_names(attributes)):
        table = group_table(board, values_of(attributes, name, board.column("player")))
        columns = {"attribute": pa.repeat(name, len(table)), "value": table.column("group")}
        columns |= {name: table.column(name) for name in schema.names if name not in columns}
        tables.append(pa.table([columns[name] for name in schema.names], schema=schema))
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _codes(values: pa.DictionaryArray) -> npt.NDArray[np.int64]:
    """The index of each value in the dictionary; -1 without one."""
    found: npt.NDArray[np.int64] = values.indices.fill_null(-1).cast(pa.int64()).to_numpy()
    return found
