"""The report of a benchmark, made from its document: a page to read in any browser, and the same as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from ..common.extras import need
from ..common.text import count, slug
from ..experiments.base import Heading, Part, Picture, Table
from ..experiments.page import to_page
from ..plotting.figures import SERIES, drawing, legible, new_figure, new_grid
from ..publication.export import atomic_file
from .measures import FILTERS, HEADINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PURPOSE = "the report of a benchmark"
PAGE, JSON = "report.html", "report.json"
_LARGEST_DRIFT = 1e6  # beyond it, the level diverges
SHOWN = ("pair_inversion", "rank_deviation", "own_cross_entropy", "calibration_error")  # metrics of all tables
_LEAST_PAIRS = 100  # of a point in a reliability diagram
_COLUMNS = 6  # panels beside each other
_REACH = 4.0  # of the axis of differences, in medians
_ABOUT = (
    "Every contest is predicted by the ratings before it, and then rated. “Everyone” are players with at least one "
    "contest before, “experienced” ones have five. Pair inversion is the share of pairs predicted correctly; equal "
    "ratings count as correct. Rank deviation is the distance of predicted and actual places, as a share of all. "
    "Cross-entropy scores the system's own chances of pairs, in bits: a coin has 1. The calibration error is the mean "
    "distance between these chances and the share of favourites that won. The log loss of games scores the chances of "
    "a win, a draw and a loss, in bits; how common draws are is learnt from the games before. Drift is the change of "
    "the mean rating of active players, in points a year; “rate” warns of more than 10. Seconds are those of rating "
    "the history once, with all kernels compiled."
)
_INTERVALS = (
    "* marks the best value. Differences are to the best system, with 95 % intervals of a paired bootstrap over "
    "rounds, in which the difficulty of a round cancels. An interval that includes 0 shows no difference. The "
    "intervals do not account for the choice of the best among many systems."
)


def shown_metrics(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The metrics of all tables of a history, given its rows; of games the scores of their three results, too."""
    of_games = any(row.get("scores", {}).get("everyone", {}).get("log_loss3") is not None for row in rows)
    return (*SHOWN, "log_loss3") if of_games else SHOWN


def check_report() -> None:
    """Raise ``MissingExtraError`` if a package for the page is not installed; before the work."""
    for package in ("jinja2", "matplotlib"):
        need(package, "report", PURPOSE)


def write_report(document: Mapping[str, Any], folder: Path) -> Path:
    """Write the page and the JSON of a benchmark into a folder; returns the path of the page.

    Raises OSError: they cannot be written.
    """
    with drawing(PURPOSE):
        page = to_html(document)
    for name, text in ((JSON, json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)), (PAGE, page)):
        with atomic_file(folder / name) as file:
            file.write(f"{text}\n".encode())
    return folder / PAGE


def to_html(document: Mapping[str, Any]) -> str:
    """The page of a document; inside of :func:`.figures.drawing`."""
    names = ", ".join(history["name"] for history in document["histories"])
    systems = len({row["label"] for history in document["histories"] for row in history["systems"]})
    share = f"the first {document['skip_share']:.0%} of each history is rated and not scored".replace("%", " %")
    about = (f"{count(systems, 'system')} on {names or 'no history'}; {share}",)
    return to_page("benchmark", "Rating systems compared", about, list(_parts(document)))


def overview(document: Mapping[str, Any]) -> dict[str, list[Any]]:
    """A row for each system, in the order of the first history, and for each history its score and drift, as text."""
    histories = document["histories"]
    labels = list(dict.fromkeys(row["label"] for history in histories for row in history["systems"]))
    columns: dict[str, list[Any]] = {"system": labels}
    for history in histories:
        rows = {row["label"]: row for row in history["systems"]}
        columns[history["name"]] = [_brief(rows.get(label), document) for label in labels]
    return columns


def shown_drift(drift: float | None) -> str:
    """A drift in points a year; empty if it is not known."""
    if drift is None:
        return ""
    return "diverges" if abs(drift) > _LARGEST_DRIFT else f"{drift:+,.1f}".replace("-", "−")


def _brief(row: Mapping[str, Any] | None, document: Mapping[str, Any]) -> str:
    if row is None:
        return ""
    if row["status"] != "rated":
        return str(row["status"])
    value = row["scores"][document["filter"]][document["metric"]]
    digits = HEADINGS[document["metric"]][1]
    score = "–" if value is None else f"{value:.{digits}f}"
    return ", ".join(filter(None, (score, shown_drift(row["drift"]))))


def _parts(document: Mapping[str, Any]) -> Iterator[Part]:
    yield _ABOUT
    histories = document["histories"]
    for failed in document["unreadable"]:
        yield f"{failed['name']} could not be read: {failed['reason']}"
    if len(histories) > 1:
        what = f"{HEADINGS[document['metric']][0]}, {document['filter']}, and drift of the level, points a year"
        columns = overview(document)
        yield Table("overview", f"All histories: {what}", columns, aligned=list(columns)[1:])
    if histories:
        yield _INTERVALS
    for history in histories:
        yield from _history_parts(history, document)
    yield from _settings(histories)


def _history_parts(history: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Part]:
    name, rows = history["name"], history["systems"]
    slugged, filter = slug(name), document["filter"]
    days = f"{history['first_day']} to {history['last_day']}" if history["first_day"] else "without times"
    yield Heading(name)
    yield (
        f"{history['contests']:,} {history['kind']} of {count(history['players'], 'player')}, "
        f"{count(history['participations'], 'participation')}, {days}."
    )
    if rated := [row for row in rows if row["status"] == "rated"]:
        other = next(one for one in FILTERS if one != filter)
        shown = shown_metrics(rated)
        order, chances = (_scored(rated, metrics, filter, other) for metrics in (shown[:2], shown[2:]))
        chances["drift, points a year"] = [shown_drift(row["drift"]) or None for row in rated]
        chances["seconds"] = [row["seconds"] for row in rated]
        digits = {head: HEADINGS[metric][1] for metric in shown for head in _heads(metric, filter, other)}
        aligned = ["drift, points a year", *(_heads(metric, filter, other)[1] for metric in shown)]
        captions = {"order": "The order of players", "chances": "Chances of pairs, level and seconds"}
        for (part, caption), columns in zip(captions.items(), (order, chances), strict=True):
            yield Table(f"{slugged}-{part}", caption, columns, digits | {"seconds": 3}, aligned=aligned)
    if others := [(row["label"], row["status"], row["reason"]) for row in rows if row["status"] != "rated"]:
        yield Table.of_rows(f"{slugged}-others", "Not rated", ("system", "result", "reason"), others)
    if len(rated) > 1:
        caption = f"Difference to the best system in {HEADINGS[document['metric']][0]}, {filter}, with 95 % intervals"
        yield Picture.of(f"{slugged}-differences", caption, _differences_figure(rated, filter, document["metric"]))
    if rated:
        caption = "Favourites that won, by their chance; below the diagonal, chances are too extreme"
        yield Picture.of(f"{slugged}-reliability", caption, _reliability_figure(rated, filter))


def _heads(metric: str, filter: str, other: str) -> tuple[str, str, str]:
    name = HEADINGS[metric][0]
    return f"{name}, {filter}", f"difference in {name.partition(',')[0]}", f"{name}, {other}"


def _scored(rows: Sequence[Mapping[str, Any]], metrics: Sequence[str], filter: str, other: str) -> dict[str, list[Any]]:
    """Columns of rated systems: metrics for both groups, with differences for the first one."""
    columns: dict[str, list[Any]] = {
        "system": [row["label"] for row in rows], "settings": [row["provenance"] for row in rows]
    }  # fmt: skip
    for metric in metrics:
        first, difference, second = _heads(metric, filter, other)
        columns[first] = [row["scores"][filter][metric] for row in rows]
        if metric != "calibration_error":  # there is no room for it
            columns[difference] = [_difference(row, filter, metric) for row in rows]
        columns[second] = [row["scores"][other][metric] for row in rows]
    return columns


def _difference(row: Mapping[str, Any], filter: str, metric: str) -> str | None:
    """The difference to the best system and its interval; a star for the best one."""
    found = row["differences"][filter].get(metric)
    if found is None:
        return None
    if found["best"] == row["label"]:
        return "*"
    digits = HEADINGS[metric][1]
    texts = ["–" if found[key] is None else f"{found[key]:+.{digits}f}" for key in ("difference", "low", "high")]
    return f"{texts[0]} ({texts[1]} to {texts[2]})".replace("-", "−")


def _settings(histories: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    rows = {row["label"]: row for history in histories for row in history["systems"]}
    shown = [
        (label, row["module"] or row["system"], row["provenance"], _texts(row["settings"]), _texts(row["params"]))
        for label, row in rows.items()
    ]
    if shown:
        yield Heading("Settings")
        headings = ("system", "code", "settings", "given", "all hyperparameters")
        yield Table.of_rows("settings", "Hyperparameters, and where they come from", headings, shown)


def _texts(settings: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value, allow_nan=False)}"
        for name, value in settings.items()
    )


def _differences_figure(rows: Sequence[Mapping[str, Any]], filter: str, metric: str) -> Figure:
    """A row for each system, the best one on top; differences much larger than the others are written as numbers."""
    known = {at: found for at, row in enumerate(rows) if (found := row["differences"][filter].get(metric)) is not None}
    reach = _REACH * median(abs(found["difference"]) for found in known.values()) if known else 0.0
    figure, axes = new_figure(8.5, 0.6 + 0.24 * len(rows))
    for at, found in known.items():
        difference = found["difference"]
        if abs(difference) > reach > 0.0:
            edge = math.copysign(reach, difference)
            text = f"{difference:+.{HEADINGS[metric][1]}f}".replace("-", "−")
            axes.text(edge, -at, text, color=SERIES[0], ha="left" if edge < 0.0 else "right", va="center")
            continue
        if found["low"] is not None:
            axes.plot([found["low"], found["high"]], [-at, -at], color=SERIES[0], linewidth=2.0, alpha=0.5)
        axes.plot([difference], [-at], color=SERIES[0], marker="o", markersize=4)
    axes.axvline(0.0, color="#999999", linewidth=0.8)
    axes.set_ylim(0.7 - len(rows), 0.7)
    axes.set_yticks([-at for at in range(len(rows))], [legible(row["label"]) for row in rows])
    axes.set_xlabel(f"difference in {HEADINGS[metric][0]}")
    return figure


def _reliability_figure(rows: Sequence[Mapping[str, Any]], filter: str) -> Figure:
    """A panel for each system, with the diagonal."""
    n_columns = min(len(rows), _COLUMNS)
    n_rows = -(-len(rows) // n_columns)
    figure, axes = new_grid(11.0, 2.1 * n_rows, n_rows, n_columns)
    for at, panel in enumerate(axes):
        if at >= len(rows):
            panel.set_visible(False)
            continue
        row = rows[at]
        bins = [one for one in row["reliability"][filter] if one["pairs"] >= _LEAST_PAIRS]
        panel.plot([50, 100], [50, 100], color="#999999", linewidth=0.8, linestyle=":")
        chance, seen = ([100 * one[key] for one in bins] for key in ("chance", "seen"))
        panel.plot(chance, seen, color=SERIES[0], marker="o", markersize=3, linewidth=1.2)
        error = row["scores"][filter]["calibration_error"]
        panel.set_xlim(48, 102)
        panel.set_ylim(45, 102)
        panel.set_title(f"{legible(row['label'])}\n" + ("" if error is None else f"error {error:.1f} %"), fontsize=8)
    return figure
