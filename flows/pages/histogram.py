"""The distribution of ratings as the pages draw it: a histogram, and the players of each title."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..answers.distribution import Distribution
from ..results.rating_format import RatingFormat
from ..results.titles import Titles
from .axes import multiples
from .colours import title_class

_TICKS, _LEVELS = 12, 4
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 960, 320, 8, 32, 34


def title_counts(titles: Titles, ratings: npt.NDArray[np.float64]) -> list[dict[str, Any]]:
    """Players of each title, lowest first, and the share of players below it; the lowest minimum may be None."""
    n = max(len(ratings), 1)
    return [
        {
            "name": title.name,
            "minimum": low if math.isfinite(low) else None,
            "class": title_class(step),
            "n": int(((ratings >= low) & (ratings < high)).sum()),
            "below": float((ratings < low).sum() / n),
        }
        for step, (low, high, title) in enumerate(titles.bands())
    ]


def histogram_graph(
    bins: Distribution, form: RatingFormat, marks: Sequence[float] = (), log: bool = False
) -> dict[str, Any]:
    """The geometry of the drawing, for the template ``histogram.svg``.

    ``marks``: ratings to point at. ``log``: whether the axis of the numbers is logarithmic.
    """
    highest, n = max(*bins.counts, 1), len(bins.counts)
    step, base = (_WIDTH - 2 * _LEFT) / n, _HEIGHT - _BOTTOM
    share = _log_share if log else lambda count, highest: count / highest
    bars = []
    for i, count in enumerate(bins.counts):
        low = (bins.first + i) * bins.width
        tall = max((base - _TOP) * share(count, highest), 1.0) if count else 0.0
        label = f"{form.rating(low)} to {form.rating(low + bins.width)}: {count:,}"
        bars.append(
            {"x": round(_LEFT + i * step, 2), "y": round(base - tall, 2), "width": round(max(step - 1, 0.5), 2),
             "height": round(tall, 2), "class": title_class(form.titles.step(low + bins.width / 2)), "label": label}
        )  # fmt: skip
    ticks = [
        {"x": round(_LEFT + (value - bins.start) / bins.width * step, 2), "text": form.rating(value)}
        for value in multiples(bins.start, bins.start + n * bins.width, _TICKS)
    ]
    levels = [
        {"y": round(base - (base - _TOP) * share(value, highest), 2), "text": f"{value:,.0f}"}
        for value in ([10.0**i for i in range(int(math.log10(highest)) + 1)] if log else _levels(highest))
    ]
    at = [
        round(min(max(_LEFT + (mark - bins.start) / bins.width * step, _LEFT), _WIDTH - _LEFT), 2)
        for mark in marks
        if math.isfinite(mark)
    ]
    scale = {"start": bins.start, "width": bins.width, "left": _LEFT, "step": step}
    size = {"width": _WIDTH, "height": _HEIGHT, "base": base}
    return size | {"bars": bars, "ticks": ticks, "levels": levels, "marks": at, "scale": scale}


def _levels(highest: int) -> list[float]:
    """The numbers at which a linear axis has lines."""
    return [value for value in multiples(0.0, highest, _LEVELS)[1:] if value == int(value)]


def _log_share(count: float, highest: float) -> float:
    """The height of a number on a logarithmic axis from one half, so that a single player has a bar."""
    return math.log(2.0 * count) / math.log(2.0 * highest)
