"""Ratings of the same history compared: which system predicted it best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ranklake.rating_kernels.metrics.metrics import FILTERS, SCALE

from ..common.arguments import checked
from ..frames.kinds import to_pandas
from .ratings import Ratings


@checked
def compare(
    ratings: Sequence[Ratings[Any]] | Mapping[str, Ratings[Any]],
    *,
    filter: str = "everyone",
    first_round: int = 0,
    scale: float = SCALE,
) -> pd.DataFrame:
    """Score ratings of the same contests on the rounds that all of them rated.

    Parameters
    ----------
    ratings
        Ratings, by name if a mapping; by default the name is that of the system with the hyperparameters that are not
        its defaults.
    filter
        ``everyone``, ``experienced`` or ``top100``.
    first_round
        Rounds with a smaller ``round_index`` are not scored.
    scale
        As for :func:`ranklake.evaluate_history`.

    Returns
    -------
    pd.DataFrame
        One row for each of the ratings, in their order, columns as from :meth:`ranklake.Ratings.evaluate`.

    Raises
    ------
    ValueError
        No ratings, two of one name, an unknown filter, or ratings of different contests.
    """
    if isinstance(ratings, Ratings) or not all(
        isinstance(one, Ratings) for one in (ratings.values() if isinstance(ratings, Mapping) else ratings)
    ):
        raise TypeError("ratings must be a list of Ratings, or a mapping from names to Ratings")
    named = ratings if isinstance(ratings, Mapping) else {one.label: one for one in ratings}
    if not named or len(named) < len(ratings):
        raise ValueError("compare needs ratings with different names; pass a mapping from names to ratings")
    if filter not in FILTERS:
        raise ValueError(f"filter must be one of {', '.join(FILTERS)}, got {filter!r}")
    histories = {name: to_pandas(one.history) for name, one in named.items()}
    contests = {name: history.groupby("round_index")["contest"].first() for name, history in histories.items()}
    first, *others = contests
    common = contests[first]
    for name in others:
        shared = common.index.intersection(contests[name].index)
        differs = common[shared].astype(str).ne(contests[name][shared].astype(str))
        if differs.any() or shared.empty:
            where = f": round {shared[differs][0]} is another contest" if differs.any() else ""
            raise ValueError(f"{first} and {name} are not ratings of the same contests{where}")
        common = common[shared]
    rows = {
        name: one.evaluate(first_round, rounds=common.index, scale=scale).loc[filter] for name, one in named.items()
    }
    return pd.DataFrame(rows).T.rename_axis("ratings")
