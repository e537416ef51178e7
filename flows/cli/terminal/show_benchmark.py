"""Tables of a benchmark for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from ranklake.rating_kernels.metrics.metrics import HIGHER_IS_BETTER

from ...benchmark.measures import HEADINGS
from ...benchmark.report import shown_drift, shown_metrics
from .tables import NAME, NUMBER, TEXT, new_table

_CAPTION = "* best; difference to the best with its 95 % interval, a paired bootstrap over rounds"


def benchmark_tables(document: Mapping[str, Any]) -> Iterator[Table]:
    """A table for each history: a row a system, best first."""
    for history in document["histories"]:
        yield _table(history, document["filter"], document["metric"])


def _table(history: Mapping[str, Any], filter: str, metric: str) -> Table:
    names = dict.fromkeys((metric, *shown_metrics(history["systems"])))
    heads = {name: f"{HEADINGS[name][0]} {'↑' if name in HIGHER_IS_BETTER else '↓'}" for name in names}
    columns = {"system": NAME, heads[metric]: NUMBER, "difference": NUMBER}
    columns |= {heads[name]: NUMBER for name in names} | {"drift a year": NUMBER, "seconds": NUMBER}
    columns |= {"remark": TEXT} if any(row["status"] != "rated" for row in history["systems"]) else {}
    hide = ["seconds", *(heads[name] for name in reversed(names) if name != metric)]
    title = f"{history['name']}, {filter}: {history['scored']:,} of {history['contests']:,} {history['kind']} scored"
    table = new_table(columns, hide, title=title, caption=_CAPTION)
    for row in history["systems"]:
        if row["status"] != "rated":
            table.add_row(row["label"], *[""] * (len(columns) - 2), f"{row['status']}: {row['reason']}")
            continue
        cells = {heads[name]: _number(name, row["scores"][filter][name]) for name in names}
        found = row["differences"][filter].get(metric)
        best = found is not None and found["best"] == row["label"]
        shown = {
            "system": row["label"], **cells, "difference": _interval(metric, found),
            "drift a year": shown_drift(row["drift"]), "seconds": f"{row['seconds']:.3f}", "remark": "",
        }  # fmt: skip
        table.add_row(*(Text(shown[name], "bold" if best and name == heads[metric] else "") for name in columns))
    return table


def _interval(metric: str, found: Mapping[str, Any] | None) -> str:
    if found is None or found["difference"] is None:
        return ""
    if found["difference"] == found["low"] == found["high"] == 0.0:
        return "*"
    low, high = (_signed(metric, found[key]) for key in ("low", "high"))
    return _signed(metric, found["difference"]) + (f" [{low}, {high}]" if low and high else "")


def _signed(metric: str, value: float | None) -> str:
    return "" if value is None else f"{value:+.{HEADINGS[metric][1]}f}"


def _number(metric: str, value: float | None) -> str:
    return "" if value is None else f"{value:.{HEADINGS[metric][1]}f}"
