"""Figures of ratings: histories of players, the histogram of all ratings, and two runs beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..common.text import count
from ..common.times import utc
from ..events.seasons import Season, reset_rounds
from ..results.player_names import PlayerHistory
from ..results.titles import Titles
from .figures import SERIES, legible, new_figure, title_bands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..answers.diff import Migration
    from ..evaluation.seen_chances import SeenChances
    from ..results.places import PlaceOptions

MOST_PLAYERS = len(SERIES)

MOST_PLACES = 100  # players of a figure of places
_SIGMAS = 2.0  # of the band around mu
_BINS, _CELLS = 60, 80  # of the figure of two runs: bars, and cells in each direction
_FIRST, _LAST = -62_135_596_800, 253_402_300_799  # seconds of the calendar's years 1 and 9999


def players_figure(histories: Sequence[PlayerHistory], run_name: str, seasons: Sequence[Season] = ()) -> Figure:
    """The displayed rating of each player over time, with the band mu ± 2 sigma.

    Histories with smoothed skills also have a dashed line for these, with their band. If a contest has no time, or a
    time outside the calendar, the axis counts rounds. The figure of a single player also has the performances. Each of
    the ``seasons`` begins at a vertical line, and lines are broken at a reset.
    """
    figure, axes = new_figure()
    alone, dated = len(histories) == 1, all(is_dated(history.rows) for history in histories)
    low, high = np.inf, -np.inf
    for history, colour in zip(histories, SERIES, strict=False):
        columns = {name: history.rows.column(name).to_numpy() for name in ("round_index", "mu", "sigma", "rating")}
        x = dates(history.rows.column("time_seconds").to_numpy()) if dated else columns["round_index"]
        mu, spread = columns["mu"], _SIGMAS * columns["sigma"]
        label = "rating" if alone else legible(history.handle)
        marker = {"marker": "o", "markersize": 3.0} if len(x) <= 40 else {}
        gaps = _gaps(columns["round_index"], seasons)
        line = np.insert(columns["rating"], gaps, np.nan)
        edges_at, low_edge, high_edge = (
            np.insert(np.asarray(values), gaps, filler)
            for values, filler in ((x, np.asarray(x)[gaps]), (mu - spread, np.nan), (mu + spread, np.nan))
        )
        axes.plot(edges_at, line, color=colour, linewidth=1.4, label=label, zorder=3, **marker)
        if spread.any():
            shade = f"mu ± {_SIGMAS:.0f} sigma" if alone else None
            axes.fill_between(
                edges_at, low_edge, high_edge, color=colour, alpha=0.15, linewidth=0, label=shade, zorder=2
            )
        low = min(low, columns["rating"].min(), (mu - spread).min())
        high = max(high, columns["rating"].max(), (mu + spread).max())
        if "smooth_mu" in history.rows.column_names:
            edges = _draw_smoothed(axes, x, history.rows, SERIES[1] if alone else colour, alone)
            low, high = min(low, edges[0]), max(high, edges[1])
        perf = history.rows.column("perf").to_numpy(zero_copy_only=False)
        if alone and np.isfinite(perf).any():
            axes.scatter(x, perf, s=7.0, color="#777777", alpha=0.6, linewidths=0, label="performance", zorder=1)
    margin = 0.05 * (high - low) or 1.0
    axes.set_ylim(low - margin, high + margin)  # performances may lie outside; ratings never do
    title_bands(axes, histories[0].format.titles)
    _mark_seasons(axes, seasons, dated)
    axes.set_title(f"{legible(histories[0].handle)} in {run_name}" if alone else f"ratings in {run_name}")
    axes.set_xlabel("" if dated else "round")
    axes.set_ylabel("rating points")
    axes.legend(loc="best", ncols=1 if alone or len(histories) < 6 else 2)
    return figure


def _gaps(round_index: npt.NDArray[np.int32], seasons: Sequence[Season]) -> npt.NDArray[np.int64]:
    """The rows of a player before which the line is broken: the first ones after a reset."""
    number = np.searchsorted(reset_rounds(seasons), round_index, "right")
    return 1 + np.flatnonzero(np.diff(number))


def _mark_seasons(axes: Axes, seasons: Sequence[Season], dated: bool) -> None:
    """A vertical line with the name of each season that begins within the drawn ratings."""
    first, last = axes.dataLim.intervalx
    for season in seasons:
        at: Any = season.first_round - 0.5
        if dated:
            if not _FIRST < season.start_seconds < _LAST:
                continue
            at = axes.convert_xunits(utc(season.start_seconds))  # type: ignore[no-untyped-call]
        if first <= at <= last:
            axes.axvline(at, color="#777777", linewidth=0.8, linestyle=":", zorder=1)
            where = axes.get_xaxis_transform()
            name = legible(season.name)
            axes.text(
                at, 0.99, f" {name}", transform=where, rotation=90, va="top", ha="right", fontsize=7, clip_on=True
            )


def chances_figure(seen: SeenChances, run_name: str) -> Figure:
    """Chances of a win, a draw and a loss of the first player, over how far it is ahead, beside the shares seen."""
    figure, axes = new_figure()
    outcomes = (("win", "wins"), ("draw", "draws"), ("loss", "losses"))
    for at, ((name, many), colour) in enumerate(zip(outcomes, SERIES, strict=False)):
        axes.plot(seen.ahead, seen.chance[:, at], color=colour, linewidth=1.4, label=f"chance of a {name}", zorder=2)
        axes.errorbar(
            seen.ahead, seen.seen[:, at], 2.0 * seen.error[:, at], color=colour, fmt="o", markersize=4.0, linewidth=0.8,
            label=f"{many} seen", zorder=3,
        )  # fmt: skip
    axes.set_ylim(0.0, 1.0)
    axes.set_title(
        f"chances before {count(int(seen.games.sum()), 'game')} of {run_name}, and shares seen ± 2 deviations"
    )
    axes.set_xlabel("rating of the first player less that of the other one, rating points")
    axes.set_ylabel("chance of the first player")
    axes.legend(loc="upper center", ncols=3)
    return figure


def _draw_smoothed(axes: Axes, x: Any, rows: pa.Table, colour: str, alone: bool) -> tuple[float, float]:
    """The smoothed skills of a player as a dashed line with its band; returns the lowest and the highest edge."""
    mu, sigma = (rows.column(name).to_numpy() for name in ("smooth_mu", "smooth_sigma"))
    spread = _SIGMAS * sigma
    line, shade = ("smoothed mu", f"smoothed mu ± {_SIGMAS:.0f} sigma") if alone else (None, None)
    axes.plot(x, mu, color=colour, linewidth=1.4, linestyle="--", label=line, zorder=4)
    axes.fill_between(x, mu - spread, mu + spread, color=colour, alpha=0.10, linewidth=0, label=shade, zorder=2)
    return (mu - spread).min(), (mu + spread).max()


def histogram(axes: Axes, ratings: npt.NDArray[np.float64], titles: Titles) -> None:
    """Histogram of all ratings at the end, coloured by title."""
    counts, edges = np.histogram(ratings, bins=80 if np.ptp(ratings) > 0.0 else 1)
    middle = 0.5 * (edges[1:] + edges[:-1])
    colours = [SERIES[0] if title is None else title.colour for title in titles.each(middle)]
    if len(set(colours)) == 1:  # no titles, or one for all
        colours = [SERIES[0]] * len(colours)
    axes.bar(middle, counts, width=np.diff(edges), color=colours, alpha=0.75, linewidth=0)
    axes.set_title(f"all ratings at the end: {count(len(ratings), 'player')}")
    axes.set_xlabel("rating points")
    axes.set_ylabel("players")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def places_figure(board: pa.Table, places: PlaceOptions, uncertainty: float, run_name: str) -> Figure:
    """The bounds of the skills of some ranked players in order of ``mu``, with intervals of their places.

    Every second tier is shaded. ``board``: columns as of :func:`ranklake.flows.results.ranks.ranked`, with tiers.
    """
    figure, axes = new_figure(7.0, 1.0 + 0.22 * board.num_rows)
    mu, sigma, tier = (board.column(name).to_numpy() for name in ("mu", "sigma", "tier"))
    rows = np.arange(board.num_rows)
    axes.errorbar(
        mu, rows, xerr=places.z * uncertainty * sigma, fmt="o", color=SERIES[0], markersize=4.0, linewidth=1.4
    )
    starts = np.flatnonzero(np.diff(tier, prepend=0)).tolist()
    for first, end in zip(starts, [*starts[1:], len(tier)], strict=True):
        if tier[first] % 2 == 0:
            axes.axhspan(first - 0.5, end - 0.5, color=SERIES[0], alpha=0.10, linewidth=0, zorder=0)
    columns = (board.column(name).to_pylist() for name in ("handle", "place_high", "place_low"))
    names = [f"{legible(handle)}  {high:,}-{low:,}" for handle, high, low in zip(*columns, strict=True)]
    axes.set_yticks(rows, names)
    axes.set_ylim(board.num_rows - 0.5, -0.5)
    axes.set_title(f"places by skill in {run_name}: {places.label}")
    axes.set_xlabel("rating points")
    return figure


def is_dated(rows: pa.Table) -> bool:
    """Whether every row has a time inside the calendar."""
    times = rows.column("time_seconds")
    if times.null_count:
        return False
    seconds = times.to_numpy()
    return bool(np.all((seconds != 0) & (seconds > _FIRST) & (seconds < _LAST)))


def dates(seconds: npt.NDArray[np.int64]) -> list[datetime]:
    """Times for an axis, UTC."""
    return [utc(int(second)) for second in seconds]


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
