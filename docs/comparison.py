"""The tables of docs/choosing.md, from the report of `ranklake benchmark` on the five histories of the page.

``python docs/comparison.py report/report.json`` writes them again; the page has the command that makes the report.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from ranklake.flows.benchmark.report import shown_drift

__all__ = ["tables", "write"]

PAGE = Path(__file__).resolve().parent / "choosing.md"
BEGIN, END = "<!-- comparison: begin -->", "<!-- comparison: end -->"
NAMES = {"f1": "Formula 1", "tennis": "tennis", "reddit": "Reddit", "ctf": "CTFtime", "codeforces": "Codeforces"}
GROUP = "experienced"

Rows = Mapping[str, Mapping[str, Any]]  # of one history, by system


def tables(report: Mapping[str, Any]) -> str:
    """The tables in Markdown: the order of pairs, their chances, and the drift of the level."""
    histories = {one["name"]: {row["label"]: row for row in one["systems"]} for one in report["histories"]}
    order = _table(histories, "pair inversion, %", "pair_inversion", lambda row: _score(row, "pair_inversion", 2))
    chances = _table(histories, "cross-entropy, bits; calibration error, %", "own_cross_entropy", _chances)
    level = _table(histories, "drift of the level, points a year", "pair_inversion", _level)
    return "\n\n".join((order, chances, level))


def write(path: Path) -> None:
    """Write the tables of a report into the page."""
    report = json.loads(path.read_text("utf-8"))
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables(report)}\n\n{END}{after}", encoding="utf-8", newline="\n")


def _table(histories: Mapping[str, Rows], title: str, metric: str, cell: Callable[[Mapping[str, Any]], str]) -> str:
    """A row for each system, by the mean of its places in the histories."""
    heads = [title, *(NAMES.get(name, name) for name in histories)]
    lines = [heads, ["---"] * len(heads)]
    for label in _ordered(list(histories.values()), metric):
        name, *settings = label.split()
        shown = f"`{name}`" + (f" with `{' '.join(settings)}`" if settings else "")
        lines.append([shown, *(cell(rows[label]) for rows in histories.values())])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _ordered(histories: Sequence[Rows], metric: str) -> list[str]:
    def places(label: str) -> Iterator[int]:
        for rows in histories:
            known = [abs(found["difference"]) for row in rows.values() if (found := _difference(row, metric))]
            own = _difference(rows[label], metric)
            yield sum(one < abs(own["difference"]) for one in known) if own else len(known)

    possible = [label for label in histories[0] if any(rows[label]["status"] != "not possible" for rows in histories)]
    return sorted(possible, key=lambda label: (fmean(places(label)), label))


def _difference(row: Mapping[str, Any], metric: str) -> Any:
    return row.get("differences", {}).get(GROUP, {}).get(metric)


def _score(row: Mapping[str, Any], metric: str, digits: int) -> str:
    """A score and the interval of its difference to the best one; in bold if that interval has 0."""
    if row["status"] != "rated":
        return str(row["status"])
    value, found = row["scores"][GROUP][metric], _difference(row, metric)
    if value is None or found is None:
        return "–"
    low, high = found["low"], found["high"]
    if low <= 0.0 <= high:
        return f"**{value:.{digits}f}**"
    return f"{value:.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})".replace("-", "−")


def _chances(row: Mapping[str, Any]) -> str:
    score = _score(row, "own_cross_entropy", 4)
    error = row.get("scores", {}).get(GROUP, {}).get("calibration_error")
    return score if error is None else f"{score}; {error:.1f}"


def _level(row: Mapping[str, Any]) -> str:
    if row["status"] != "rated":
        return str(row["status"])
    return shown_drift(row["drift"]) or "–"


if __name__ == "__main__":
    write(Path(sys.argv[1]))
