"""Pages of a leaderboard: in another order, of active players, or of one title."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["ORDERS", "Leaderboard", "Page"]

ORDERS = ("rating", "mu", "max_rating")


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a result.

    Attributes
    ----------
    rows : pa.Table
        The rows.
    total : int
        Number of rows of the whole result.
    next : int or None
        Start of the next page; None on the last one.
    """

    rows: pa.Table
    total: int
    next: int | None

    @classmethod
    def of(cls, table: pa.Table, chosen: npt.NDArray[np.int64], start: int, limit: int) -> Page:
        """The rows ``chosen[start : start + limit]`` of a table."""
        stop = start + limit
        rows = table.take(pa.array(chosen[start:stop]))
        return cls(rows, len(chosen), stop if stop < len(chosen) else None)


class Leaderboard:
    """The leaderboard of one state of a run, a ``table`` with the columns of ``PUBLISHED["leaderboard"]``."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._chosen = lru_cache(64)(self._choose)

    def page(
        self, start: int, limit: int, order: str = "rating", active_since: int | None = None, title: str | None = None
    ) -> Page:
        """Rows of the leaderboard; columns as in ``PUBLISHED["leaderboard"]``.

        Parameters
        ----------
        order
            One of :data:`ORDERS`. ``place`` is always that by rating among all players.
        active_since
            Only players whose last contest ended then or later, UTC seconds.
        title
            Only players with this title.
        """
        return Page.of(self.table, self._chosen(order, active_since, title), start, limit)

    def _choose(self, order: str, active_since: int | None, title: str | None) -> npt.NDArray[np.int64]:
        keep = np.ones(self.table.num_rows, bool)
        if active_since is not None:
            keep &= self.table.column("last_time_seconds").to_numpy() >= active_since
        if title is not None:
            keep &= self.table.column("title").to_numpy() == title
        rows = np.flatnonzero(keep)
        if order != "rating":
            rows = rows[np.argsort(-self.table.column(order).to_numpy()[rows], kind="stable")]
        return rows
