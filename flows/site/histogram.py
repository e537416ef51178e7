"""The distribution of ratings: bins of a round width, quantiles, and their drawing."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..common.titles import Titles
from ..results.rating_format import RatingFormat
from .colours import title_class

__all__ = ["Histogram", "histogram_graph", "histogram_of", "multiples", "nice_width", "title_counts"]

QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
_BINS = 50  # about as many
_TICKS, _LEVELS = 12, 4
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 960, 320, 8, 32, 34


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of players by rating.

    Attributes
    ----------
    start, width : float
        Lower end of the first bin, and the width of every bin, rating points.
    counts : list of int
        Players of each bin.
    quantiles : list of (float, float)
        Shares, and the ratings that these shares of players are below.
    """

    start: float
    width: float
    counts: list[int]
    quantiles: list[tuple[float, float]]

    @property
    def total(self) -> int:
        """Number of players."""
        return sum(self.counts)

    def rows(self) -> list[tuple[float, int, float]]:
        """Every bin, best first: its lower end, its players, and the share of players below the bin."""
        below, rows = 0, []
        for i, n in enumerate(self.counts):
            rows.append((self.start + i * self.width, n, below / max(self.total, 1)))
            below += n
        return rows[::-1]


def histogram_of(ratings: npt.NDArray[np.float64]) -> Histogram:
    """The histogram of finite ratings; bins have a round width and begin at its multiples."""
    shown = ratings[np.isfinite(ratings)]
    if not len(shown):
        return Histogram(0.0, 1.0, [], [])
    low, high = float(shown.min()), float(shown.max())
    width = nice_width((high - low) / _BINS)
    first = math.floor(low / width)
    bins = np.floor(shown / width).astype(np.int64) - first
    quantiles = [(share, float(value)) for share, value in zip(QUANTILES, np.quantile(shown, QUANTILES), strict=True)]
    return Histogram(first * width, width, np.bincount(bins).tolist(), quantiles)


def title_counts(titles: Titles, ratings: npt.NDArray[np.float64]) -> list[dict[str, Any]]:
    """Players of each title, lowest first, and the share of players below it; the lowest minimum may be None."""
    n = max(len(ratings), 1)
    return [
        {
            "name": title.name,
            "minimum": low if math.isfinite(low) else None,
            "class": title_class(titles, title),
            "n": int(((ratings >= low) & (ratings < high)).sum()),
            "below": float((ratings < low).sum() / n),
        }
        for low, high, title in titles.bands()
    ]


def nice_width(value: float) -> float:
    """The least of 1, 2, 2.5, 5 and 10 times a power of ten that is at least ``value``; 1 without a range."""
    if not value > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10, 20) if step * power >= value * (1 - 1e-9))


def multiples(low: float, high: float, about: int) -> list[float]:
    """The multiples of a round number from ``low`` to ``high``, ascending: ``about`` so many or fewer."""
    step = nice_width((high - low) / about)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def histogram_graph(bins: Histogram, form: RatingFormat, mark: float | None = None) -> dict[str, Any]:
    """The geometry of the drawing, for the template ``histogram.svg``; ``mark`` is a rating to point at."""
    minima = [title.minimum for title in form.titles.ladder]
    highest, n = max(bins.counts, default=1), max(len(bins.counts), 1)
    step, base = (_WIDTH - 2 * _LEFT) / n, _HEIGHT - _BOTTOM
    bars = []
    for i, count in enumerate(bins.counts):
        low = bins.start + i * bins.width
        tall = max((base - _TOP) * count / highest, 1.0 if count else 0.0)
        tier = bisect_right(minima, low + bins.width / 2) - 1
        label = f"{form.rating(low)} to {form.rating(low + bins.width)}: {count:,}"
        bars.append(
            {"x": round(_LEFT + i * step, 2), "y": round(base - tall, 2), "width": round(max(step - 1, 0.5), 2),
             "height": round(tall, 2), "class": f"t t{tier}" if tier >= 0 else "t", "label": label}
        )  # fmt: skip
    ticks = [
        {"x": round(_LEFT + (value - bins.start) / bins.width * step, 2), "text": form.rating(value)}
        for value in multiples(bins.start, bins.start + n * bins.width, _TICKS)
    ]
    levels = [
        {"y": round(base - (base - _TOP) * value / highest, 2), "text": f"{value:,.0f}"}
        for value in multiples(0.0, highest, _LEVELS)[1:]
        if value == int(value)
    ]
    at = None
    if mark is not None and math.isfinite(mark):
        at = round(min(max(_LEFT + (mark - bins.start) / bins.width * step, _LEFT), _WIDTH - _LEFT), 2)
    scale = {"start": bins.start, "width": bins.width, "left": _LEFT, "step": step}
    size = {"width": _WIDTH, "height": _HEIGHT, "base": base}
    return size | {"bars": bars, "ticks": ticks, "levels": levels, "mark": at, "scale": scale}
