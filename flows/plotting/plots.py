"""Figures of a run: histories of players, and the distribution of ratings over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.storage import Lake

from ..common.times import utc
from ..common.titles import Titles, TitlesChoice
from ..results.display import Display
from ..results.leaderboard import LeaderboardBuilder, open_rated, rated_contests
from ..results.player_names import PlayerHistory
from ..results.run_titles import titles_of
from .figures import SERIES, legible, new_figure, title_bands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MOST_PLAYERS", "distribution", "distribution_figure", "histogram", "players_figure"]

MOST_PLAYERS = len(SERIES)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
MOMENTS = 120  # points in time
YEAR = 365 * 86_400

_SIGMAS = 2.0  # of the band around mu
_FIRST, _LAST = -62_135_596_800, 253_402_300_799  # seconds of the calendar's years 1 and 9999


def players_figure(histories: Sequence[PlayerHistory], run_name: str) -> Figure:
    """The displayed rating of each player over time, with the band mu ± 2 sigma.

    Histories with smoothed skills also have a dashed line for these, with their band. If a contest has no time, or a
    time outside the calendar, the axis counts rounds. The figure of a single player also has the performances.
    """
    figure, axes = new_figure()
    alone, dated = len(histories) == 1, all(_is_dated(history.rows) for history in histories)
    low, high = np.inf, -np.inf
    for history, colour in zip(histories, SERIES, strict=False):
        columns = {name: history.rows.column(name).to_numpy() for name in ("round_index", "mu", "sigma", "rating")}
        x = _dates(history.rows.column("time_seconds").to_numpy()) if dated else columns["round_index"]
        mu, spread = columns["mu"], _SIGMAS * columns["sigma"]
        label = "rating" if alone else legible(history.handle)
        marker = {"marker": "o", "markersize": 3.0} if len(x) <= 40 else {}
        axes.plot(x, columns["rating"], color=colour, linewidth=1.4, label=label, zorder=3, **marker)
        if spread.any():
            shade = f"mu ± {_SIGMAS:.0f} sigma" if alone else None
            axes.fill_between(x, mu - spread, mu + spread, color=colour, alpha=0.15, linewidth=0, label=shade, zorder=2)
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
    axes.set_title(f"{legible(histories[0].handle)} in {run_name}" if alone else f"ratings in {run_name}")
    axes.set_xlabel("" if dated else "round")
    axes.set_ylabel("rating points")
    axes.legend(loc="best", ncols=1 if alone or len(histories) < 6 else 2)
    return figure


def _draw_smoothed(axes: Axes, x: Any, rows: pa.Table, colour: str, alone: bool) -> tuple[float, float]:
    """The smoothed skills of a player as a dashed line with its band; returns the lowest and the highest edge."""
    mu, sigma = (rows.column(name).to_numpy() for name in ("smooth_mu", "smooth_sigma"))
    spread = _SIGMAS * sigma
    line, shade = ("smoothed mu", f"smoothed mu ± {_SIGMAS:.0f} sigma") if alone else (None, None)
    axes.plot(x, mu, color=colour, linewidth=1.4, linestyle="--", label=line, zorder=4)
    axes.fill_between(x, mu - spread, mu + spread, color=colour, alpha=0.10, linewidth=0, label=shade, zorder=2)
    return (mu - spread).min(), (mu + spread).max()


def distribution(lake: Lake, run_name: str, deviations: float | None = None) -> pa.Table:
    """The distribution of the displayed ratings over time.

    Returns
    -------
    pa.Table
        One row a point in time: ``round_index`` (the last round before it), ``time_seconds`` (null if times are
        unknown), ``players`` (number of players), and a column for each quantile, ``q05`` to ``q99``. The players are
        those with a round in the year before, or all rated players if times are unknown. The last row is the end of
        the run.

    Raises
    ------
    LakeError
        The run does not exist, or it has no rounds yet.
    """
    moments, _, _ = _walk(lake, run_name, deviations)
    return moments


def distribution_figure(
    lake: Lake, run_name: str, deviations: float | None = None, titles: TitlesChoice = None
) -> Figure:
    """Quantiles of the ratings over time, and a histogram of all ratings at the end by title."""
    moments, ratings, ladder = _walk(lake, run_name, deviations, titles)
    figure, (left, right) = new_figure(10.0, 4.5, columns=2, width_ratios=[3, 2])
    dated = moments.column("time_seconds").null_count == 0
    x = _dates(moments.column("time_seconds").to_numpy()) if dated else moments.column("round_index").to_numpy()
    bands = {name: moments.column(name).to_numpy() for name in _names()}
    for (a, b), alpha, label in ((("q05", "q95"), 0.15, "5 % to 95 %"), (("q25", "q75"), 0.30, "25 % to 75 %")):
        left.fill_between(x, bands[a], bands[b], color=SERIES[0], alpha=alpha, linewidth=0, label=label, zorder=2)
    left.plot(x, bands["q50"], color=SERIES[0], linewidth=1.6, label="median", zorder=3)
    left.plot(x, bands["q99"], color=SERIES[1], linewidth=1.0, label="99 %", zorder=3)
    low, high = left.get_ylim()
    left.set_ylim(low, high + 0.12 * (high - low))  # room for the legend
    title_bands(left, ladder)
    left.set_title(f"ratings in {run_name}" + (", of players active in the year before" if dated else ""))
    left.set_xlabel("" if dated else "round")
    left.set_ylabel("rating points")
    left.legend(loc="upper left", ncols=2)
    histogram(right, ratings, ladder)
    return figure


def histogram(axes: Axes, ratings: npt.NDArray[np.float64], titles: Titles) -> None:
    """Histogram of all ratings at the end, coloured by title."""
    counts, edges = np.histogram(ratings, bins=80 if np.ptp(ratings) > 0.0 else 1)
    middle = 0.5 * (edges[1:] + edges[:-1])
    colours = [SERIES[0] if title is None else title.colour for title in titles.each(middle)]
    if len(set(colours)) == 1:  # no titles, or one for all
        colours = [SERIES[0]] * len(colours)
    axes.bar(middle, counts, width=np.diff(edges), color=colours, alpha=0.75, linewidth=0)
    axes.set_title(f"all ratings at the end: {len(ratings):,} players")
    axes.set_xlabel("rating points")
    axes.set_ylabel("players")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _walk(
    lake: Lake, run_name: str, deviations: float | None, titles: TitlesChoice = None
) -> tuple[pa.Table, npt.NDArray[np.float64], Titles]:
    """The rows of :func:`distribution`, all ratings at the end, and the titles."""
    run, dataset, chain = open_rated(lake, run_name)
    contests = rated_contests(chain, dataset)
    ends = contests.column("time_seconds").fill_null(0).to_numpy()
    dated = _is_dated(contests)
    display = Display.of(run, deviations)
    builder = LeaderboardBuilder(dataset.n_players, contests, display)
    rows: list[dict[str, Any]] = []
    stops = _stops(ends, dated)
    for last_round, table in _cut(run.iter_segments(0, None, LeaderboardBuilder.columns, chain=chain), stops):
        builder.update(table)
        if last_round in stops and builder.n_rounds.any():
            now = int(ends[: last_round + 1].max())
            counted = builder.n_rounds > 0
            if dated:
                counted &= builder.last_time_seconds > now - YEAR
            quantiles = np.quantile(builder.rating[counted], QUANTILES)
            columns = dict(zip(_names(), quantiles.tolist(), strict=True))
            when = {"round_index": last_round, "time_seconds": now if dated else None}
            rows.append({**when, "players": int(np.count_nonzero(counted)), **columns})
    kinds = {"round_index": pa.int32(), "time_seconds": pa.int64(), "players": pa.int64()}
    schema = pa.schema([*kinds.items(), *((name, pa.float64()) for name in _names())])
    ladder = titles_of(run, dataset, display.params.mu_init, titles)
    return pa.Table.from_pylist(rows, schema=schema), builder.rating[builder.n_rounds > 0], ladder


def _cut(segments: Iterator[tuple[Any, pa.Table]], stops: set[int]) -> Iterator[tuple[int, pa.Table]]:
    """Rows of consecutive rounds, divided after each round in ``stops``."""
    for segment, table in segments:
        start, rounds = segment.first_round, table.column("round_index").to_numpy()
        for last in sorted({stop for stop in stops if start <= stop < segment.stop_round} | {segment.stop_round - 1}):
            a, b = np.searchsorted(rounds, (start, last + 1))
            yield last, table.slice(int(a), int(b - a))
            start = last + 1


def _stops(ends: npt.NDArray[np.int64], dated: bool) -> set[int]:
    """The last rounds before evenly spaced points in time, and the last round of all."""
    n = len(ends)
    if not dated:
        return set(np.unique(np.linspace(0, n - 1, min(n, MOMENTS)).astype(int)).tolist())
    latest = np.maximum.accumulate(ends)
    moments = np.linspace(float(latest[0]), float(latest[-1]), MOMENTS)
    return set((np.searchsorted(latest, moments, side="right") - 1).clip(0, n - 1).tolist()) | {n - 1}


def _names() -> list[str]:
    return [f"q{100 * quantile:02.0f}" for quantile in QUANTILES]


def _is_dated(rows: pa.Table) -> bool:
    times = rows.column("time_seconds")
    if times.null_count:
        return False
    seconds = times.to_numpy()
    return bool(np.all((seconds != 0) & (seconds > _FIRST) & (seconds < _LAST)))


def _dates(seconds: npt.NDArray[np.int64]) -> list[datetime]:
    return [utc(int(second)) for second in seconds]
