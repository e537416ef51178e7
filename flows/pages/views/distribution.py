"""The histogram of ratings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ...answers.distribution import distribution as bins_of
from ...results.titles import Titles
from ..histogram import title_counts


def distribution(board: pa.Table, titles: Titles, player: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The histogram of the ratings of a leaderboard, and perhaps one player in it."""
    ratings = board.column("rating").to_numpy()
    return {"bins": bins_of(ratings), "titles": title_counts(titles, ratings), "player": player}
