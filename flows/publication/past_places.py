"""Places among all ranked players at the ends of past periods, by the ratings that are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..results.places import PlaceOptions
from ..results.states import NO_END, known_ends

SHOWN_PERIODS = 240
_COUNTED_LEVELS = 1 << 20  # between the lowest and the highest, to be counted and not sorted
_PERIODS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1_200, "millennium": 12_000}  # months

Longs = npt.NDArray[np.int64]


def periods(ends: Longs, most: int = SHOWN_PERIODS) -> tuple[str, Longs]:
    """The shortest period of which a history has at most ``most``, by name, and the last round of each.

    ``ends`` (int64[n]): the end of each round, UTC seconds; 0 if unknown. Clocks that go back stay where they were.
    There are no periods without times.
    """
    known = np.maximum.accumulate(known_ends(ends))
    first = int(np.searchsorted(known, NO_END, side="right"))
    months = known[first:].astype("datetime64[s]").astype("datetime64[M]").astype(np.int64)
    for name, length in _PERIODS.items():
        last = first + np.flatnonzero(np.diff(months // length, append=np.iinfo(np.int64).max))
        if len(last) <= most:
            return name, last
    return "", np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class PastPlaces:
    """How many ranked players had which rating after some rounds.

    ``rounds`` (int64[k]): these rounds, ascending. ``levels`` (int64[n]): all ratings as they are shown, times ten to
    the power of ``decimals``, ascending. ``above`` (int32[k, n]): number of players with a higher rating than each.
    ``totals`` (int32[k]): number of ranked players.
    """

    rounds: Longs
    decimals: int
    places: PlaceOptions
    levels: Longs
    above: npt.NDArray[np.int32]
    totals: npt.NDArray[np.int32]

    @classmethod
    def of(cls, rounds: Longs, decimals: int, places: PlaceOptions, rows: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Count the players after the ``rounds``.

        ``rows``: ``player, round_index, rating, sigma, n_rounds`` of each participation, in order of rounds for each
        player, the players in any order.
        """
        order = np.argsort(rows["player"], kind="stable")
        player, index = rows["player"][order], rows["round_index"][order]
        since = np.searchsorted(rounds, index)  # the first of the rounds by which a row is known
        until = np.append(
            np.where(player[1:] == player[:-1], since[1:], len(rounds)), [len(rounds)] * (len(player) > 0)
        )
        lasting = np.flatnonzero(since < until)
        ranked = ~places.provisional(rows["n_rounds"][order[lasting]], rows["sigma"][order[lasting]])
        lasting = lasting[ranked]
        levels, level = np.unique(_shown(rows["rating"][order[lasting]], decimals), return_inverse=True)
        size = (len(rounds) + 1, len(levels))
        come, gone = (
            np.bincount(at[lasting] * size[1] + level, minlength=size[0] * size[1]).reshape(size)
            for at in (since, until)
        )
        counts = np.cumsum(come - gone, axis=0)[:-1]
        totals = counts.sum(axis=1)
        above = totals[:, None] - np.cumsum(counts, axis=1)
        return cls(rounds, decimals, places, levels, above.astype(np.int32), totals.astype(np.int32))

    def of_player(self, rows: Mapping[str, npt.NDArray[Any]]) -> tuple[Longs, Longs]:
        """When a player had a place, as positions in ``rounds``, and which one; ``rows`` as in :meth:`of`."""
        last = np.searchsorted(rows["round_index"], self.rounds, side="right") - 1
        ranked = ~self.places.provisional(rows["n_rounds"], rows["sigma"])
        at = np.flatnonzero((last >= 0) & ranked[np.maximum(last, 0)])
        level = np.searchsorted(self.levels, _shown(rows["rating"][last[at]], self.decimals))
        return at, 1 + self.above[at, level].astype(np.int64)


def snapshot(ratings: npt.NDArray[np.float64], decimals: int) -> tuple[Longs, Longs]:
    """The shown ratings of ranked players, as :attr:`PastPlaces.levels`, and the number of players with each."""
    levels, level = _levels(_shown(ratings, decimals))
    return levels, np.bincount(level, minlength=len(levels))


def _levels(values: Longs) -> tuple[Longs, Longs]:
    """The different values, ascending, and which of them each is."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if high - low > _COUNTED_LEVELS:
        return np.unique(values, return_inverse=True)
    levels = low + np.flatnonzero(np.bincount(values - low))
    return levels, (np.cumsum(np.bincount(values - low) > 0) - 1)[values - low]


def _shown(rating: npt.NDArray[np.float64], decimals: int) -> Longs:
    """Ratings as they are shown, as whole numbers; those that are not finite are the lowest."""
    scaled = np.round(np.nan_to_num(rating, nan=-1e12, posinf=1e12, neginf=-1e12), decimals) * 10.0**decimals
    return np.clip(np.round(scaled), -(2**62), 2**62).astype(np.int64)
