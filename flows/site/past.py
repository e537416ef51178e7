"""Places over time on a site: how many ranked players had which rating at the end of each period."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from ..publication.past_places import periods, snapshot
from ..results.components import compared_in
from ..results.rated_rounds import LeaderboardBuilder
from .content import SiteContent

SHOWN_PERIODS = 60  # every visitor of places over time reads all


class SitePast:
    """Counts players as the rounds of a run are read, :meth:`add` after each round with participations."""

    def __init__(self, content: SiteContent) -> None:
        self._content = content
        ends = np.array([time or 0 for time in content.about["time_seconds"]], np.int64)
        read = np.flatnonzero(content.rows)
        self.period, last = periods(ends[read] if content.display.shift is None else ends[:0], SHOWN_PERIODS)
        self._rounds = dict.fromkeys(read[last].tolist())
        self._times = ends
        self._counts: list[tuple[Any, Any]] = []
        uncertain = content.display.system.uncertainty > 0
        self._max_sigma = content.places.max_sigma if uncertain else math.inf

    def add(self, index: int, builder: LeaderboardBuilder) -> None:
        """Count the players after a round, if it is the last one of a period."""
        if index in self._rounds:
            rated = builder.n_rounds >= max(self._content.places.min_rounds, 1)
            ranked = rated & ~(builder.sigma > self._max_sigma)
            self._counts.append(snapshot(builder.rating[ranked], self._content.format.decimals))

    def data(self, board: pa.Table) -> dict[str, Any] | None:
        """The data of the scripts, given the final leaderboard; None if places over time have no meaning.

        ``levels``: of each period the ratings times ten to the power of the decimals, ascending, as differences, and
        ``counts``: the number of players with each.
        """
        if not self.period or compared_in(board, self._content.places.min_rounds) is not None:
            return None
        rounds = list(self._rounds)
        return {
            "period": self.period,
            "rounds": rounds,
            "times": self._times[rounds].tolist(),
            "min_rounds": self._content.places.min_rounds,
            "max_sigma": self._max_sigma if math.isfinite(self._max_sigma) else None,
            "levels": [np.diff(levels, prepend=0).tolist() for levels, _ in self._counts],
            "counts": [counts.tolist() for _, counts in self._counts],
        }
