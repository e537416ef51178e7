"""The geometry of a rating graph: bands of titles, ratings, beliefs within two sigma, performances; or places.

``static/geometry.js`` has the same for a page on which a visitor zooms; a test compares the two. Names of bands are in
a strip at the left edge that no line reaches. A gap between two rounds is a pause, and dashed, if it is longer than a
year and than four times the median gap of the player. A line that goes on beyond the shown time ends at the edge.
A season is a vertical line; where it begins with a reset, the line of a rating is broken: nobody has earned the jump.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from ..results.rating_format import RatingFormat
from .axes import DAY, columns_of, cut, multiples, place_marks, time_marks
from .links import day, short

VIEWS = {"rating": "rating", "place": "places"}  # what a graph shows, and the column of a player that has it
WIDTH, HEIGHT = 960, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 10, 10, 28
_MARGIN = 0.06  # of the range of ratings, above and below
_SPACE = 6  # between the line and the edges of the plot
_MARKS = 6  # on the axis of ratings
_YEAR = 365.25 * DAY
_LEAST = 7 * DAY  # of a span
_PAUSE = 4  # median gaps of a player
_NAMED = 16  # height of a band that has room for its name
_NAME = 26  # columns of the longest name of a band that is not cut
_NAME_COLUMN, _LABEL_COLUMN = 5.8, 8.4  # width of a character of usual width
_LABEL = 16  # columns of a label at the end of a line
_APART = 15  # height of a label
_LEADER = 16  # from the plot to the labels
_NAME_SPACE = 8  # before and after a name of a band
_EDGE = 26  # half the width of a date
_SIGN = 44  # of a sign of the legend, with the space after its text
_SEASON = 16  # columns of the longest name of a season that is not cut
_FLAG = 30  # height above the peak that its flag needs

Player = Mapping[str, Any]  # the history of one player, a list for each column, as graph.js reads it
Point = tuple[float, float]  # a time, and how high a value is: a rating, or minus the logarithm of a place
Segment = tuple[Point, Point, bool]  # between two rounds, and whether it is a pause
Span = tuple[float, float]


def history_graph(
    players: Sequence[Player],
    form: RatingFormat,
    view: str = "rating",
    span: Span | None = None,
    seasons: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The geometry of the graph of one or more players, for the template ``graph.svg``.

    The ratings of one player have the band of mu +- 2 sigma, with a line of mu if it is not the rating, and dots of
    performances; several players have their lines only, with a label at the end of each. Values that are not finite
    are left out. Performances far from all ratings are at the edge.

    ``players``: for each the ``handle``, perhaps a ``name`` in its place, and lists, oldest round first: ``times``, the
    ends of the contests in UTC seconds; ``rating``, ``mu`` and ``sigma`` after each round, and ``perf``, rating points;
    None or NaN without one.
    With the ``view`` "place" the lists are ``times`` and ``places``.
    ``span``: the first and the last time that are shown; by default all are.
    ``seasons``: ``time`` of the begin of each, UTC seconds, ascending; ``name``, and whether there is a ``reset``.
    """
    span = span or whole_span([t for one in players for t in one["times"]])
    resets = [one["time"] for one in seasons if one["reset"] and view == "rating"]
    curves = [_Curve(one, view, span, resets) for one in players]
    alone = curves[0] if len(curves) == 1 else None
    belief = _Belief(players[0], form, span, resets) if alone and view == "rating" else None
    bands = [(low, top, cut(short(title.name), _NAME)) for low, top, title in form.titles.bands()]
    plot = _plot(curves, belief, bands if view == "rating" else [], span)
    x, y = plot.x, plot.y
    return {
        "width": WIDTH, "height": HEIGHT, "left": _LEFT, "right": plot.right, "top": _TOP, "bottom": HEIGHT - _BOTTOM,
        "bands": [
            {"y": y(top), "height": round(y(low) - y(top), 1), "class": f"t{i}", "name": name,
             "named": _has_name(low, top, plot.low, plot.high)}
            for i, (low, top, name) in enumerate(bands)
            if view == "rating" and low < plot.high and top > plot.low
        ],
        "lines": [_path(_runs(curve.segments, False), plot) for curve in curves],
        "pauses": [_path(_runs(curve.segments, True), plot) for curve in curves],
        "belief": _ribbon(belief, plot) if belief else "",
        "mean": _path(_runs(belief.mean, False), plot) if belief else "",
        "dots": [(x(t), y(v)) for t, v in belief.perf] if belief else [],
        "points": [(x(t), y(v)) for t, v in alone.points] if alone else [],
        "labels": [] if alone else _labels(curves, plot),
        "peak": _flag(alone.peak, plot, form, view) if alone and alone.peak else None,
        "across": [{"y": y(v), "text": text} for v, text in _marks(plot, form, view)],
        "along": [{"x": x(t), "at": min(x(t), WIDTH - _EDGE), "text": text} for t, text in time_marks(*span)],
        "seasons": _season_marks(seasons, plot),
        "label": _summary(curves, form, view),
        "legend": _legend(curves, belief, view),
        "handles": [curve.handle for curve in curves],
        "view": view,
    }  # fmt: skip


def whole_span(times: Sequence[float]) -> Span:
    """The first and the last of some times; a day before and after a single one."""
    first, last = (min(times), max(times)) if times else (0, 1)
    return (first - DAY, last + DAY) if first == last else (first, last)


def clamped(span: Span, whole: Span) -> Span:
    """A span moved into the whole, at least a week long, or as long as the whole."""
    length = min(max(span[1] - span[0], _LEAST), whole[1] - whole[0])
    start = min(max(span[0], whole[0]), whole[1] - length)
    return start, start + length


def longest_gap(times: Sequence[float]) -> float:
    """The longest gap between two rounds of a player that is no pause, seconds."""
    gaps = [later - earlier for earlier, later in pairwise(times)]
    return max(_YEAR, _PAUSE * median(gaps)) if gaps else _YEAR


class _Curve:
    """The line of one player within a span.

    ``known``: the points of all rounds. ``points``: of those in the span. ``peak``: the highest of all, if it is there.
    """

    def __init__(self, one: Player, view: str, span: Span, resets: Sequence[float]) -> None:
        height = float if view == "rating" else lambda place: -math.log10(place)
        self.handle = short(one.get("name", one["handle"]))
        self.known = [(t, height(v)) for t, v in zip(one["times"], one[VIEWS[view]], strict=True) if _finite(v)]
        self.points = _inside(self.known, span)
        gap = longest_gap([t for t, _ in self.known])
        self.segments = [segment for part in _split(self.known, resets) for segment in _segments(part, span, gap)]
        top = max(self.known, key=lambda point: point[1], default=None)
        self.peak = top if top in self.points else None

    @property
    def drawn(self) -> list[Point]:
        """All points, also those at the edges of the span."""
        return self.points + [point for one, other, _ in self.segments for point in (one, other)]

    @property
    def end(self) -> Point | None:
        """The last point that is drawn."""
        ends = [*self.points[-1:], *(segment[1] for segment in self.segments[-1:])]
        return max(ends, key=lambda point: point[0], default=None)


class _Belief:
    """What a system believes of one player within a span: ``upper``, ``lower`` and ``mean`` as segments, and ``perf``.

    ``mean`` is empty if mu is the rating; a system without an uncertainty has neither band nor mean.
    """

    def __init__(self, one: Player, form: RatingFormat, span: Span, resets: Sequence[float]) -> None:
        columns = zip(one["times"], one["mu"], one["sigma"], one["rating"], strict=True)
        known = [row for row in columns if _finite(row[1]) and _finite(row[2])]
        rows = known if any(sigma for _, _, sigma, _ in known) else []
        edges = [[(t, mu + k * sigma) for t, mu, sigma, _ in rows] for k in (2, -2)]
        self.upper, self.lower = ([s for part in _split(edge, resets) for s in _edge(part, span)] for edge in edges)
        differs = any(form.rating(rating) != form.rating(mu) for _, mu, _, rating in rows if _finite(rating))
        means = _split([(t, mu) for t, mu, _, _ in rows] if differs else [], resets)
        self.mean = [segment for part in means for segment in _segments(part, span, math.inf)]
        shown = zip(one["times"], one["perf"], strict=True)
        self.perf = _inside([(t, v) for t, v in shown if _finite(v)], span)


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _inside(points: Sequence[Point], span: Span) -> list[Point]:
    return [point for point in points if span[0] <= point[0] <= span[1]]


def _split(points: Sequence[Point], resets: Sequence[float]) -> list[Sequence[Point]]:
    """The points between the resets, ``resets`` ascending: a round at the time of one comes after it."""
    cuts = [i for i in range(1, len(points)) if _number(resets, points[i]) > _number(resets, points[i - 1])]
    return [points[start:stop] for start, stop in pairwise([0, *cuts, len(points)])]


def _number(resets: Sequence[float], point: Point) -> int:
    return bisect_right(resets, point[0])


def _segments(points: Sequence[Point], span: Span, gap: float) -> list[Segment]:
    """The lines from point to point within a span; those that are longer than ``gap`` are pauses."""
    return [
        (_within(one, one, other, span), _within(other, one, other, span), other[0] - one[0] > gap)
        for one, other in pairwise(points)
        if max(one[0], other[0]) >= span[0] and min(one[0], other[0]) <= span[1]
    ]


def _edge(points: Sequence[Point], span: Span) -> list[Segment]:
    """An edge of the belief; that of a single round is a hundredth of the span long on each side."""
    if len(points) == 1:
        ((t, value),) = points
        reach = (span[1] - span[0]) / 100
        points = [(t - reach, value), (t + reach, value)]
    return _segments(points, span, math.inf)


def _within(point: Point, one: Point, other: Point, span: Span) -> Point:
    """A point of the line between two, moved along it into the span."""
    time = min(max(point[0], span[0]), span[1])
    if time == point[0]:
        return point
    return time, one[1] + (other[1] - one[1]) * (time - one[0]) / (other[0] - one[0])


def _runs(segments: Sequence[Segment], pauses: bool) -> list[list[Point]]:
    """The points of the segments that are pauses, or of the others; those that follow each other are one run."""
    runs: list[list[Point]] = []
    for one, other, pause in segments:
        if pause != pauses:
            continue
        if runs and runs[-1][-1] == one:
            runs[-1].append(other)
        else:
            runs.append([one, other])
    return runs


@dataclass(frozen=True, slots=True)
class _Plot:
    """From times and heights to pixels: ``start`` and ``stop`` are the ends of the span, ``right`` is the edge."""

    span: Span
    low: float
    high: float
    start: float
    stop: float
    right: float

    def x(self, time: float) -> float:
        return round(self.start + (time - self.span[0]) / (self.span[1] - self.span[0]) * (self.stop - self.start), 1)

    def y(self, value: float) -> float:
        return round(_y(min(max(value, self.low), self.high), self.low, self.high), 1)


def _y(value: float, low: float, high: float) -> float:
    return _TOP + (high - value) / (high - low) * (HEIGHT - _TOP - _BOTTOM)


def _has_name(bottom: float, top: float, low: float, high: float) -> bool:
    """Whether a band has room for its name."""
    bottom, top = max(bottom, low), min(top, high)
    return top > bottom and _y(bottom, low, high) - _y(top, low, high) >= _NAMED


def _plot(
    curves: Sequence[_Curve], belief: _Belief | None, bands: Sequence[tuple[float, float, str]], span: Span
) -> _Plot:
    """The plot with room for the names of the bands, the labels at the ends of lines, and the flag of the peak."""
    low, high = _limits(curves, belief)
    if len(curves) == 1 and curves[0].peak:
        share = _FLAG / (HEIGHT - _TOP - _BOTTOM)
        high = max(high, (curves[0].peak[1] - share * low) / (1 - share))
    names = [columns_of(name) for bottom, top, name in bands if _has_name(bottom, top, low, high)]
    labels = [columns_of(cut(curve.handle, _LABEL)) for curve in curves] if len(curves) > 1 else []
    right = WIDTH - _RIGHT - (_LEADER + _LABEL_COLUMN * max(labels) if labels else 0)
    start = _LEFT + (2 * _NAME_SPACE + _NAME_COLUMN * max(names) if names else _SPACE)
    return _Plot(span, low, high, round(start, 1), round(right - _SPACE, 1), round(right, 1))


def _limits(curves: Sequence[_Curve], belief: _Belief | None) -> Span:
    """The lowest and the highest value of a plot."""
    values = [v for curve in curves for _, v in curve.drawn]
    if belief:
        values += [point[1] for one, other, _ in belief.upper + belief.lower for point in (one, other)]
        values += _near(values, [v for _, v in belief.perf])
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    space = (high - low) * _MARGIN or max(abs(high) * _MARGIN, 1.0)
    return low - space, high + space


def _near(values: Sequence[float], perf: Sequence[float]) -> list[float]:
    """The performances, moved to within a reach of the ratings and beliefs: those of large teams can be far away."""
    if not values:
        return list(perf)
    low, high = min(values), max(values)
    reach = max(high - low, abs(low), abs(high))
    return [min(max(p, low - reach), high + reach) for p in perf]


def _path(runs: Sequence[Sequence[Point]], plot: _Plot) -> str:
    return "".join(f"M{'L'.join(f'{plot.x(t)} {plot.y(v)}' for t, v in run)}" for run in runs)


def _ribbon(belief: _Belief, plot: _Plot) -> str:
    """The outline of mu +- 2 sigma: forward along the upper edge, back along the lower one."""
    edges = zip(_runs(belief.upper, False), _runs(belief.lower, False), strict=True)
    return "".join(f"{_path([[*upper, *reversed(lower)]], plot)}Z" for upper, lower in edges)


def _season_marks(seasons: Sequence[Mapping[str, Any]], plot: _Plot) -> list[dict[str, Any]]:
    """The beginnings of seasons within the span; a name without room before the next one is left out."""
    inside = [one for one in seasons if plot.span[0] <= one["time"] <= plot.span[1]]
    shown = [(plot.x(one["time"]), short(one["name"])) for one in inside]
    marks = []
    for (x, name), (end, _) in pairwise([*shown, (plot.right, "")]):
        text = cut(name, _SEASON)
        room = _NAME_COLUMN * columns_of(text) + _NAME_SPACE <= end - x
        marks.append({"x": x, "at": round(x + 4, 1), "name": name, "text": text if room else ""})
    return marks


def _labels(curves: Sequence[_Curve], plot: _Plot) -> list[dict[str, Any]]:
    """The handles beside the ends of the lines, from above, moved apart where they would overlap."""
    ends = sorted((plot.y(end[1]), i, plot.x(end[0])) for i, curve in enumerate(curves) if (end := curve.end))
    last = HEIGHT - _BOTTOM - _APART / 2
    apart = min(_APART, (last - _TOP) / max(len(ends), 1))
    at: list[float] = []
    for y, _, _ in ends:
        at.append(max(y, at[-1] + apart if at else _TOP))
    for i in reversed(range(len(at))):
        at[i] = min(at[i], at[i + 1] - apart if i + 1 < len(at) else last)
    return [
        {"x": round(plot.right + _LEADER, 1), "y": round(label + 4, 1), "class": f"s{i % 8}",
         "text": cut(curves[i].handle, _LABEL), "end": (x, y),
         "leader": f"M{x} {y}H{plot.right}L{round(plot.right + _LEADER - 3, 1)} {round(label, 1)}"}
        for label, (y, i, x) in zip(at, ends, strict=True)
    ]  # fmt: skip


def _flag(peak: Point, plot: _Plot, form: RatingFormat, view: str) -> dict[str, Any]:
    """The flag at the highest value, with its date; its text is on the side where there is room."""
    x, y = plot.x(peak[0]), plot.y(peak[1])
    side = -1 if x > (plot.start + plot.stop) / 2 else 1
    return {
        "x": x, "y": y, "side": side, "path": f"M{x} {y}v-22l{side * 9} 4l{-side * 9} 4",
        "at": round(x + side * 13, 1), "baseline": round(y - 14, 1), "anchor": "start" if side > 0 else "end",
        "text": " · ".join([_shown(peak[1], form, view), day(int(peak[0]))]),
    }  # fmt: skip


def _shown(height: float, form: RatingFormat, view: str) -> str:
    """The text of a value, given its height."""
    return form.rating(height) if view == "rating" else f"place {round(10**-height):,}"


def _marks(plot: _Plot, form: RatingFormat, view: str) -> list[tuple[float, str]]:
    """The marks on the axis of values, with their texts."""
    if view == "rating":
        return [(v, form.rating(v)) for v in multiples(plot.low, plot.high, _MARKS)]
    places = place_marks(10**-plot.high, 10**-plot.low, _MARKS)
    return [(-math.log10(place), f"{place:,}" if place < 100_000 else f"{place // 1000:,}k") for place in places]


def _summary(curves: Sequence[_Curve], form: RatingFormat, view: str) -> str:
    """What a graph shows, for those who do not see it."""
    what = "Rating graph" if view == "rating" else "Places over time"
    text = f"{what} of {', '.join(curve.handle for curve in curves)}"
    if len(curves) != 1 or not curves[0].known:
        return text
    known = curves[0].known
    top, last = max(known, key=lambda point: point[1]), known[-1]
    values = [f"{name} {_shown(v, form, view)} on {day(int(t))}" for name, (t, v) in (("highest", top), ("last", last))]
    return f"{text}, {day(int(known[0][0]))} to {day(int(last[0]))}: {', '.join(values)}"


def _legend(curves: Sequence[_Curve], belief: _Belief | None, view: str) -> list[dict[str, Any]]:
    """What the signs of a graph mean: for each ``class`` its text, and where it is in a picture."""
    signs = [("line", view)] if len(curves) == 1 else []  # several have labels
    if belief:
        signs += [("belief mean" if belief.mean else "belief", "μ ± 2σ")] if belief.upper else []
        signs += [("dot", "performance")] if belief.perf else []
    if any(pause for curve in curves for _, _, pause in curve.segments):
        signs.append(("pause", "pause"))
    placed, x = [], float(_LEFT)
    for kind, text in signs:
        placed.append({"class": kind, "text": text, "x": round(x, 1)})
        x += _SIGN + _LABEL_COLUMN * columns_of(text)
    return placed
