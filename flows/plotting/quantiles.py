"""The distribution of a run's ratings over time, as a table and as a figure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.storage import Lake

from ..common.progress import ProgressCallback, not_shown
from ..entrants.explained import explained_by
from ..results.display import Display
from ..results.rated_rounds import RatedRounds
from ..results.titles import Titles, TitlesChoice
from .figures import SERIES, new_figure, title_bands
from .plots import dates, histogram, is_dated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
MOMENTS = 120  # points in time
YEAR = 365 * 86_400


def distribution_figure(
    lake: Lake,
    run_name: str,
    deviations: float | None = None,
    titles: TitlesChoice = None,
    on_progress: ProgressCallback = not_shown,
) -> Figure:
    """Quantiles of the ratings over time, and a histogram of all ratings at the end by title."""
    moments, ratings, ladder = quantiles_over_time(lake, run_name, deviations, titles, on_progress)
    figure, (left, right) = new_figure(10.0, 4.5, columns=2, width_ratios=[3, 2])
    dated = moments.column("time_seconds").null_count == 0
    x = dates(moments.column("time_seconds").to_numpy()) if dated else moments.column("round_index").to_numpy()
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


def quantiles_over_time(
    lake: Lake,
    run_name: str,
    deviations: float | None = None,
    titles: TitlesChoice = None,
    on_progress: ProgressCallback = not_shown,
) -> tuple[pa.Table, npt.NDArray[np.float64], Titles]:
    """The distribution of the displayed ratings over time, all ratings at the end, and the titles.

    One row a point in time: ``round_index`` (the last round before it), ``time_seconds`` (null if times are unknown),
    ``players`` (number of players), and a column for each quantile, ``q05`` to ``q99``. The players are those with a
    round in the year before, or all rated players if times are unknown. The last row is the end of the run.
    Raises LakeError: the run does not exist, or it has no rounds yet.
    """
    rounds = RatedRounds(lake, run_name)
    ends, dated, display = rounds.ends, is_dated(rounds.contests_table), Display.of(rounds.run, deviations)
    builder = rounds.builder(display, explained_by(rounds))
    rows: list[dict[str, Any]] = []
    stops = _stops(ends, dated)
    for last_round, table in _cut(rounds.walk(0, None, builder.columns, on_progress), stops):
        builder.update(table)
        if last_round in stops and builder.n_rounds.any():
            now = int(ends[: last_round + 1].max())
            counted = builder.n_rounds > 0
            if dated:
                counted &= builder.last_time_seconds > now - YEAR
            quantiles = np.quantile(builder.shown()[counted], QUANTILES)
            columns = dict(zip(_names(), quantiles.tolist(), strict=True))
            when = {"round_index": last_round, "time_seconds": now if dated else None}
            rows.append({**when, "players": int(np.count_nonzero(counted)), **columns})
    kinds = {"round_index": pa.int32(), "time_seconds": pa.int64(), "players": pa.int64()}
    schema = pa.schema([*kinds.items(), *((name, pa.float64()) for name in _names())])
    ladder = rounds.format(display, titles).titles
    return pa.Table.from_pylist(rows, schema=schema), builder.shown()[builder.n_rounds > 0], ladder


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
