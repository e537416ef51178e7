"""The page of a report: text, tables and pictures in one self-contained HTML file."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata, resources
from typing import Any

from ..common.extras import need
from ..common.text import visible
from .base import Heading, Part, Picture

_HUGE = 1e9  # larger numbers are shown in powers of ten


def to_page(command: str, title: str, about: Sequence[str], parts: Sequence[Part], contents: bool = False) -> str:
    """A report as an HTML page.

    ``command``: what made it, without ``ranklake``.
    ``about``: lines below the title.
    ``contents``: whether a list of the headings, with links, comes first.
    Raises MissingExtraError: the package jinja2 is not installed.
    """
    jinja2 = need("jinja2", "report", "a report")
    environment = jinja2.Environment(
        autoescape=True, finalize=_visible, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    template = environment.from_string(resources.files(__package__).joinpath("report.html").read_text("utf-8"))
    page: str = template.render(
        command=command,
        title=title,
        about=about,
        version=metadata.version("ranklake"),
        day=datetime.now(UTC).strftime("%Y-%m-%d"),
        contents=contents,
        parts=[_part(part) for part in parts],
    )
    return page


def _visible(value: Any) -> Any:
    """A value for the page; direction controls are escaped, as they would reorder the text around them."""
    return visible(value) if isinstance(value, str) else value


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, str):
        return {"kind": "text", "text": part}
    if isinstance(part, Heading):
        return {"kind": "heading", "text": part.text}
    if isinstance(part, Picture):
        return {"kind": "picture", "caption": part.caption, "svg": base64.b64encode(part.svg).decode("ascii")}
    digits = part.digits
    shown = {
        heading: [_cell(value, digits if isinstance(digits, int) else digits.get(heading, 1)) for value in values]
        for heading, values in part.columns.items()
    }
    numeric = [
        heading in part.aligned or any(isinstance(value, int | float) for value in values)
        for heading, values in part.columns.items()
    ]
    rows = [list(zip(row, numeric, strict=True)) for row in zip(*shown.values(), strict=True)]
    headings = list(zip(shown, numeric, strict=True))
    return {"kind": "table", "caption": part.caption, "headings": headings, "rows": rows, "file": part.file}


def _cell(value: Any, digits: int) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    shown = f"{value:,.{digits}f}" if abs(value) < _HUGE else f"{value:.2e}"
    return shown.replace("-", "−")
