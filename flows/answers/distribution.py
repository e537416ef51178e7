"""The distribution of ratings: bins of a round width, and quantiles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..results.places import share_lower
from ..results.ranks import active_since as were_active
from ..results.ranks import chosen

MOST_BINS = 2_000
_BINS = 50  # at least, by default, before the width is rounded up
_QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)


@dataclass(frozen=True, slots=True)
class Distribution:
    """Counts of players by rating; bin ``i``, from ``first`` on, begins at ``i * width``.

    ``quantiles``: shares, and the ratings that these shares of players are below; empty without players.
    """

    first: int
    width: float
    counts: list[int]
    quantiles: list[tuple[float, float]]

    @property
    def total(self) -> int:
        """Number of players."""
        return sum(self.counts)

    @property
    def start(self) -> float:
        """Lower end of the first bin."""
        return self.first * self.width

    def rows(self) -> list[tuple[float, int, float]]:
        """Every bin, best first: its lower end, its players, and the share of players below the bin."""
        below, rows = 0, []
        for i, n in enumerate(self.counts, self.first):
            rows.append((i * self.width, n, below / max(self.total, 1)))
            below += n
        return rows[::-1]

    def to_json(self) -> dict[str, Any]:
        """``n_players, width, bins`` with ``low, high, count`` of each, and ``quantiles`` by share."""
        bins = [
            {"low": i * self.width, "high": (i + 1) * self.width, "count": n}
            for i, n in enumerate(self.counts, self.first)
        ]
        quantiles = {str(share): value for share, value in self.quantiles}
        return {"n_players": self.total, "width": self.width, "bins": bins, "quantiles": quantiles}


def distribution(ratings: npt.NDArray[np.float64], width: float | None = None) -> Distribution:
    """The distribution of the finite ones of some ratings. The bins begin at multiples of their width.

    ``width``: width of a bin, rating points; by default the least :func:`nice_width` that gives at most about 50 bins.
    Raises ``ValueError`` if the width gives more than ``MOST_BINS`` bins.
    """
    shown = ratings[np.isfinite(ratings)]
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (0.0, 0.0)
    width = nice_width((high - low) / _BINS) if width is None else width
    first, last = math.floor(low / width), math.floor(high / width)
    if last - first >= MOST_BINS:
        raise ValueError(f"must give at most {MOST_BINS:,} bins for ratings from {low:.0f} to {high:.0f}")
    counts = np.bincount((np.floor(shown / width) - first).astype(np.int64), minlength=last - first + 1)
    values = np.quantile(shown, _QUANTILES).tolist() if len(shown) else []
    return Distribution(first, width, counts.tolist(), list(zip(_QUANTILES, values, strict=False)))


def distribution_of(
    board: pa.Table, width: float | None = None, active_since: int | None = None, handle: str | None = None
) -> dict[str, Any]:
    """The distribution of the ranked players of a leaderboard as :meth:`Distribution.to_json`, and ``player``, who is
    called ``handle``; a provisional one has no percentile.

    ``active_since``: only players whose last contest ended then or later, UTC seconds. Raises as :func:`distribution`.
    """
    shown = counted(board, active_since)
    result = distribution(shown.column("rating").to_numpy(), width).to_json()
    return result if handle is None else result | {"player": placed(board, shown, handle)}


def counted(board: pa.Table, active_since: int | None = None) -> pa.Table:
    """The rows of the players of a leaderboard who count: the ranked ones, with a contest then or later."""
    shown = chosen(board, "hide")
    return shown if active_since is None else shown.filter(pa.array(were_active(shown, active_since)))


def placed(board: pa.Table, shown: pa.Table, handle: str) -> dict[str, Any]:
    """``handle, rating, percentile`` of a player of a leaderboard among ``shown`` ones; None for what there is not."""
    rating = below = None
    if (row := pc.index(board.column("handle"), handle).as_py()) >= 0:
        rating = board.column("rating")[row].as_py()
        if board.column("place")[row].is_valid:
            below = _percentile(shown, board.slice(row, 1))
    return {"handle": handle, "rating": rating, "percentile": below}


def _percentile(shown: pa.Table, player: pa.Table) -> float:
    """The percentile of a player, a row, among rows of a leaderboard that may have it, in the player's component."""
    if "component" in shown.column_names:
        shown = shown.filter(pc.equal(shown.column("component"), player.column("component")[0]))
    ratings, rating = shown.column("rating").to_numpy(), player.column("rating")[0].as_py()
    itself = pc.index(shown.column("handle"), player.column("handle")[0]).as_py() >= 0
    return float(share_lower(np.sum(ratings < rating), np.sum(np.isfinite(ratings)) - itself))


def nice_width(value: float) -> float:
    """The least of 1, 2, 2.5, 5 and 10 times a power of ten that is at least ``value``; 1 without a range."""
    if not value > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10, 20) if step * power >= value * (1 - 1e-9))
