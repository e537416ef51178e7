"""The geometry of a rating graph: bands of titles, ratings, beliefs within two sigma, and performances."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ..answers.distribution import nice_width
from ..common.times import utc
from ..results.rating_format import RatingFormat
from .links import short

_WIDTH, _HEIGHT = 960, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 10, 10, 28
_MARGIN = 0.06  # of the range of ratings, above and below
_TICKS = 6
_DAY = 86_400
_MOST_TIMES = 10
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000)  # between two ticks of the time
_NAMED = 16  # height of a band that has room for its name


Player = Mapping[str, Any]  # the history of one player, a list for each column, as graph.js reads it


def history_graph(players: Sequence[Player], form: RatingFormat) -> dict[str, Any]:
    """The geometry of the graph of one or more players, for the template ``graph.svg``.

    One player has the band of mu +- 2 sigma and dots of performances; several have their lines only. Values that are
    not finite are left out. Performances far from all ratings are at the edge.

    ``players``: for each the ``handle``, and lists, oldest round first: ``times``, the ends of the contests in UTC
    seconds; ``rating``, ``mu`` and ``sigma`` after each round, and ``perf``, rating points; None or NaN without one.
    """
    alone = len(players) == 1
    times = [t for one in players for t in one["times"]]
    values = [v for one in players for v in one["rating"] if math.isfinite(v)]
    if alone:
        one = players[0]
        beliefs = [(m, s) for m, s in zip(one["mu"], one["sigma"], strict=True) if math.isfinite(m + s)]
        values += [m + k * s for m, s in beliefs for k in (-2, 2)]
        values += _near(values, [p for p in one["perf"] if p is not None and math.isfinite(p)])
    first, last = (min(times), max(times)) if times else (0, 1)
    if first == last:
        first, last = first - _DAY, last + _DAY
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    space = (high - low) * _MARGIN or max(abs(high) * _MARGIN, 1.0)
    low, high = low - space, high + space

    def x(time: float) -> float:
        return round(_LEFT + (time - first) / (last - first) * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(value: float) -> float:
        return round(_TOP + (high - min(max(value, low), high)) / (high - low) * (_HEIGHT - _TOP - _BOTTOM), 1)

    bands = [
        {"y": y(top), "height": round(y(bottom) - y(top), 1), "class": f"t{i}", "name": short(title.name),
         "named": y(bottom) - y(top) >= _NAMED}
        for i, (bottom, top, title) in enumerate(form.titles.bands())
        if bottom < high and top > low
    ]  # fmt: skip
    lines = [_line(_dots(one, "rating", x, y)) for one in players]
    return {
        "width": _WIDTH, "height": _HEIGHT, "left": _LEFT, "right": _WIDTH - _RIGHT, "top": _TOP,
        "bottom": _HEIGHT - _BOTTOM, "bands": bands, "lines": lines,
        "belief": _ribbon(players[0], x, y) if alone else "",
        "dots": _dots(players[0], "perf", x, y) if alone else [],
        "points": _dots(players[0], "rating", x, y) if alone else [],
        "across": [{"y": y(v), "text": form.rating(v)} for v in multiples(low, high, _TICKS)],
        "along": [{"x": x(t), "text": text} for t, text in _times(first, last)],
        "label": "Rating graph of " + ", ".join(short(one["handle"]) for one in players),
    }  # fmt: skip


def multiples(low: float, high: float, about: int) -> list[float]:
    """The multiples of a round number from ``low`` to ``high``, ascending: ``about`` so many or fewer."""
    step = nice_width((high - low) / about)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _near(values: Sequence[float], perf: Sequence[float]) -> list[float]:
    """The performances, moved to within a reach of the ratings and beliefs: those of large teams can be far away."""
    if not values:
        return list(perf)
    low, high = min(values), max(values)
    reach = max(high - low, abs(low), abs(high))
    return [min(max(p, low - reach), high + reach) for p in perf]


def _line(points: Sequence[tuple[float, float]]) -> str:
    return f"M{'L'.join(f'{x} {y}' for x, y in points)}" if points else ""


def _ribbon(one: Player, x: Any, y: Any) -> str:
    """The outline of mu +- 2 sigma: forward along the upper edge, back along the lower one."""
    rows = [row for row in zip(one["times"], one["mu"], one["sigma"], strict=True) if math.isfinite(row[1] + row[2])]
    upper = [f"{x(t)} {y(mu + 2 * sigma)}" for t, mu, sigma in rows]
    lower = [f"{x(t)} {y(mu - 2 * sigma)}" for t, mu, sigma in reversed(rows)]
    return f"M{'L'.join(upper + lower)}Z" if rows else ""


def _dots(one: Player, name: str, x: Any, y: Any) -> list[tuple[float, float]]:
    """The values of a column that are finite."""
    return [(x(t), y(v)) for t, v in zip(one["times"], one[name], strict=True) if v is not None and math.isfinite(v)]


def _times(first: int, last: int) -> list[tuple[int, str]]:
    """The beginnings of years, of months or of days between two times, with their texts."""
    try:
        start, stop = (time.year * 12 + time.month - 1 for time in (utc(first), utc(last)))
    except OverflowError:
        return []
    if stop - start >= 3:
        every = next(step for step in _MONTHS if (stop - start) / step <= _MOST_TIMES)
        months = [divmod(month, 12) for month in range(start + 1, stop + 1) if month % every == 0]
        begins = [datetime(year, month + 1, 1, tzinfo=UTC) for year, month in months]
        return [(int(time.timestamp()), f"{time:%Y-%m}" if time.month > 1 else f"{time:%Y}") for time in begins]
    day = _DAY * max(1, math.ceil((last - first) / _DAY / 6))
    return [(t, f"{utc(t):%Y-%m-%d}") for t in range(-(-first // day) * day, last + 1, day)]
