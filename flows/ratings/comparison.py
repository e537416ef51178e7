"""Ratings of the same history compared: which system predicted it best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ranklake.rating_kernels.metrics.metrics import FILTERS, SCALE

from ..evaluation.frames import evaluate_history
from ..frames.kinds import to_pandas
from .ratings import Ratings

__all__ = ["compare"]


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
        One row for each of the ratings, in their order, columns as from :func:`ranklake.evaluate_history`.

    Raises
    ------
    ValueError
        No ratings, two of one name, an unknown filter, or ratings of different contests.
    """
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
        name: evaluate_history(history[history["round_index"].isin(common.index)], first_round, scale=scale).loc[filter]
        for name, history in histories.items()
    }
    return pd.DataFrame(rows).T.rename_axis("ratings")
