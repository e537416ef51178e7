"""The figure of two compared runs: both distributions, and the rating after by the rating before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..answers.diff import Migration
from ..common.text import count
from .figures import SERIES, legible, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["comparison_figure"]

_BINS = 60
_CELLS = 80  # of the second panel, in each direction


def comparison_figure(found: Migration) -> Figure:
    """Histograms of the common players' ratings in both runs; and the number of players at each pair of ratings."""
    from matplotlib.colors import LogNorm

    figure, (left, right) = new_figure(10.0, 4.5, columns=2, width_ratios=[1, 1])
    before, after = found.ratings
    low, high = min(before.min(), after.min()), max(before.max(), after.max())
    edges = np.linspace(low, high, _BINS + 1) if high > low else np.array([low - 0.5, low + 0.5])
    for ratings, name, colour in zip((before, after), found.names, SERIES, strict=False):
        counts, _ = np.histogram(ratings, bins=edges)
        left.stairs(counts, edges, color=colour, linewidth=1.4, label=legible(name), zorder=3)
        left.stairs(counts, edges, color=colour, alpha=0.15, fill=True, zorder=2)
    left.set_title(f"ratings of {count(len(before), 'player')} in both runs")
    left.set_xlabel("rating points")
    left.set_ylabel("players")
    left.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    left.legend(loc="best")
    pairs, x, y = np.histogram2d(before, after, bins=_CELLS)
    shades = LogNorm(vmin=0.5, vmax=max(float(pairs.max()), 2.0))
    right.pcolormesh(x, y, np.ma.masked_equal(pairs.T, 0.0), cmap="Blues", norm=shades, rasterized=True, zorder=2)
    right.axline((low, low), slope=1.0, color="#777777", linewidth=0.8, linestyle="--", zorder=3)
    right.set_title("each player in both runs; darker: more players")
    right.set_xlabel(legible(found.names[0]))
    right.set_ylabel(legible(found.names[1]))
    return figure
