"""Write a report as one self-contained HTML page, and its tables as Parquet."""

from __future__ import annotations

import base64
import math
from datetime import UTC, datetime
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from ..common.extras import need
from ..common.text import visible
from .base import Experiment, Picture, Report, Table

_HUGE = 1e9  # larger numbers are shown in powers of ten


def write_report(experiment: Experiment, report: Report, folder: Path, data: str) -> Path:
    """Write ``<name>.html``, and each table as ``<name>-<table>.parquet``; return the path of the page.

    ``data``: description of the input, for the page.
    """
    page = to_html(experiment, report, data)
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in report.tables.items():
        pq.write_table(table.to_arrow(), folder / f"{experiment.name}-{name}.parquet")
    path = folder / f"{experiment.name}.html"
    path.write_text(page, encoding="utf-8", newline="\n")
    return path


def to_html(experiment: Experiment, report: Report, data: str) -> str:
    """The report as an HTML page.

    Raises MissingExtraError: the package jinja2 is not installed.
    """
    jinja2 = need("jinja2", "report", "an experiment's report")
    environment = jinja2.Environment(
        autoescape=True, finalize=_visible, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    template = environment.from_string(resources.files(__package__).joinpath("report.html").read_text("utf-8"))
    page: str = template.render(
        experiment=experiment,
        data=data,
        version=metadata.version("ranklake"),
        day=datetime.now(UTC).strftime("%Y-%m-%d"),
        parts=[_part(experiment, part) for part in report.parts],
    )
    return page


def _visible(value: Any) -> Any:
    """A value for the page; direction controls are escaped, as they would reorder the text around them."""
    return visible(value) if isinstance(value, str) else value


def _part(experiment: Experiment, part: str | Table | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"kind": "text", "text": part}
    if isinstance(part, Picture):
        return {"kind": "picture", "caption": part.caption, "svg": base64.b64encode(part.svg).decode("ascii")}
    digits = part.digits
    shown = {
        heading: [_cell(value, digits if isinstance(digits, int) else digits.get(heading, 1)) for value in values]
        for heading, values in part.columns.items()
    }
    numeric = [any(isinstance(value, int | float) for value in values) for values in part.columns.values()]
    rows = [list(zip(row, numeric, strict=True)) for row in zip(*shown.values(), strict=True)]
    file = f"{experiment.name}-{part.name}.parquet"
    return {
        "kind": "table", "caption": part.caption, "headings": list(zip(shown, numeric, strict=True)), "rows": rows,
        "file": file,
    }  # fmt: skip


def _cell(value: Any, digits: int) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    shown = f"{value:,.{digits}f}" if abs(value) < _HUGE else f"{value:.2e}"
    return shown.replace("-", "−")
