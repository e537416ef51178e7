"""Figures of ratings in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from ..common.text import count
from ..plotting.figures import drawing, new_figure
from ..plotting.plots import MOST_PLAYERS, histogram, players_figure
from ..results.player_names import PlayerHistory
from ..results.rating_format import RatingFormat
from ..results.titles import NONE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = ("round_index", "time_seconds", "perf", "mu", "sigma", "rating")


def players_of(history: pd.DataFrame, players: Sequence[Any], name: str, form: RatingFormat) -> Figure:
    """The ratings of some players over time."""
    if not 1 <= len(players) <= MOST_PLAYERS:
        raise ValueError(f"a figure shows 1 to {MOST_PLAYERS} players, got {len(players)}")
    drawn = []
    for player in players:
        rows = history[history["player"] == player]
        if rows.empty:
            raise ValueError(f"player {player!r} has no rated round")
        table = pa.table({column: rows[column].to_numpy() for column in _COLUMNS})
        drawn.append(PlayerHistory(str(player), table, "", form))
    with drawing("a figure"):
        return players_figure(drawn, name)


def distribution_of(ratings: npt.NDArray[np.float64], name: str) -> Figure:
    """A histogram of ratings."""
    if not len(ratings):
        raise ValueError("there are no ratings to draw")
    with drawing("a figure"):
        figure, axes = new_figure()
        histogram(axes, ratings, NONE)
        axes.set_title(f"ratings in {name}: {count(len(ratings), 'player')}")
        return figure
