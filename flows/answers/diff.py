"""Two runs side by side, as for a change from one system to another: ratings, places, quantiles, gains. No kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import LakeError

from ..results.ranks import among

QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
_COLUMNS = ("rating", "place", "percentile", "n_rounds")


@dataclass(frozen=True, slots=True)
class Migration:
    """The players that two leaderboards have in common.

    ``players``: one row a common player, in the order of the second run: ``handle``; ``rating, place, percentile,
    n_rounds``, each with ``_before`` (the first run) and ``_after`` (the second); ``change`` of the rating;
    ``places_gained``. Places and percentiles are among the common players.
    ``only``: number of players that only the first or only the second run has.
    """

    names: tuple[str, str]
    players: pa.Table
    only: tuple[int, int]

    @property
    def ratings(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The ratings of the common players in both runs."""
        return self.players.column("rating_before").to_numpy(), self.players.column("rating_after").to_numpy()

    def quantiles(self) -> list[dict[str, float]]:
        """Quantiles of the ratings: ``quantile, before, after``."""
        before, after = (np.quantile(rating, QUANTILES).tolist() for rating in self.ratings)
        rows = zip(QUANTILES, before, after, strict=True)
        return [{"quantile": quantile, "before": one, "after": other} for quantile, one, other in rows]

    def rank_correlation(self) -> float | None:
        """Spearman's rank correlation of both ratings: 1 for the same order. None if all of one run are equal."""
        one, other = (_mean_ranks(rating) for rating in self.ratings)
        one, other = one - one.mean(), other - other.mean()
        scale = float(np.sqrt((one @ one) * (other @ other)))
        return float(one @ other) / scale if scale else None

    def gains(self, n: int) -> pa.Table:
        """The ``n`` players who gain most places; only those who gain."""
        return self._first(n, "descending", pc.greater)

    def losses(self, n: int) -> pa.Table:
        """The ``n`` players who lose most; only those who lose."""
        return self._first(n, "ascending", pc.less)

    def _first(self, n: int, order: str, moved: Any) -> pa.Table:
        rows = self.players.filter(moved(self.players.column("places_gained"), 0))
        keys = [("places_gained", order), ("place_after", "ascending"), ("handle", "ascending")]
        return rows.sort_by(keys).slice(0, n)


def compare_boards(names: tuple[str, str], before: pa.Table, after: pa.Table) -> Migration:
    """Compare two leaderboards, players by handle; raises ``LakeError`` if they have no player in common."""
    handles = before.column("handle").combine_chunks()
    handles = handles.filter(pc.is_in(handles, value_set=after.column("handle").combine_chunks()))
    if not len(handles):
        raise LakeError(f"runs {names[0]} and {names[1]} have no player in common; compare runs over the same players")
    only = before.num_rows - len(handles), after.num_rows - len(handles)
    one, other = (among(board, pc.is_in(board.column("handle"), handles).to_numpy()) for board in (before, after))
    one = one.take(pc.index_in(other.column("handle"), value_set=one.column("handle").combine_chunks()))
    columns = {"handle": other.column("handle")}
    for name in _COLUMNS:
        columns |= {f"{name}_before": one.column(name), f"{name}_after": other.column(name)}
    columns["change"] = pc.subtract(other.column("rating"), one.column("rating"))
    columns["places_gained"] = pc.subtract(one.column("place"), other.column("place"))
    return Migration(names, pa.table(columns), only)


def _mean_ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The rank of each value from 0; equal values share their mean rank."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - 0.5 * (counts + 1))[group]
