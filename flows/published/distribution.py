"""The distribution of ratings: bins and quantiles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .tables import PublishedTables

__all__ = ["MOST_BINS", "count", "distribution"]

MOST_BINS = 2_000
_QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)


def distribution(
    board: pa.Table,
    width: float | None = None,
    active_since: int | None = None,
    handle: str | None = None,
) -> dict[str, Any]:
    """The number of players in each bin of ratings, and quantiles.

    Parameters
    ----------
    board
        A leaderboard.
    width
        Width of a bin, rating points; by default a round number that gives about 40 bins.
    active_since
        Only players whose last contest ended then or later, UTC seconds.
    handle
        A player whose percentile is wanted; null if the leaderboard does not have the player.

    Raises
    ------
    ValueError
        The width gives more than ``MOST_BINS`` bins.
    """
    ratings: npt.NDArray[np.float64] = board.column("rating").to_numpy()
    rating = None
    if handle is not None and (row := pc.index(board.column("handle"), handle).as_py()) >= 0:
        rating = float(ratings[row])
    if active_since is not None:
        ratings = ratings[board.column("last_time_seconds").to_numpy() >= active_since]
    ratings = ratings[np.isfinite(ratings)]
    low, high = (float(ratings[-1]), float(ratings[0])) if len(ratings) else (0.0, 0.0)
    width = _nice_width(high - low) if width is None else width
    first, last = math.floor(low / width), math.floor(high / width)
    if last - first >= MOST_BINS:
        raise ValueError(f"must give at most {MOST_BINS:,} bins for ratings from {low:.0f} to {high:.0f}")
    counts = np.bincount((np.floor(ratings / width) - first).astype(np.int64), minlength=last - first + 1)
    result = {
        "n_players": len(ratings),
        "width": width,
        "bins": [
            {"low": (first + i) * width, "high": (first + i + 1) * width, "count": n}
            for i, n in enumerate(counts.tolist())
        ],
        "quantiles": dict(zip(map(str, _QUANTILES), np.quantile(ratings, _QUANTILES).tolist(), strict=True))
        if len(ratings)
        else {},
    }
    if handle is not None:
        below = None if rating is None else float((ratings < rating).mean() * 100) if len(ratings) else 0.0
        result["player"] = {"handle": handle, "rating": rating, "percentile": below}
    return result


def count(tables: PublishedTables, low: float | None, high: float | None) -> int:
    """Number of players with a rating of at least ``low`` and below ``high``."""
    ratings = _ratings(tables)
    return int(
        np.sum((ratings >= (-math.inf if low is None else low)) & (ratings < (math.inf if high is None else high)))
    )


def _ratings(tables: PublishedTables) -> npt.NDArray[np.float64]:
    """Descending."""
    ratings: npt.NDArray[np.float64] = tables.leaderboard_table.column("rating").to_numpy()
    return ratings


def _nice_width(span: float) -> float:
    """A round number near a fortieth of the span."""
    if not span:
        return 1.0
    power = 10.0 ** math.floor(math.log10(span / 40))
    return power * next(step for step in _NICE if step * power >= span / 40)
