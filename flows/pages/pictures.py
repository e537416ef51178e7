"""Pictures of a player to embed in other pages: the rating graph and a badge, each one SVG file with its own style."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from ..results.titles import Titles
from .axes import columns_of, cut
from .colours import LIGHT, title_styles, with_contrast
from .files import package_files
from .graph import history_graph
from .links import short
from .render import RunFacts, Templates

_LABEL_COLUMNS = 24  # of the name of a run on a badge
_HEADING_COLUMNS = 50
_PADDING, _COLUMN = 12, 7  # pixels around a text, and of a character of usual width
_PLAIN = "#2b5797"  # of a badge without a title
_BADGE_STYLE = "text{font:11px Verdana,Geneva,sans-serif;fill:#fff}"
_COLOURS = """
:root{--surface:#fff;--text:#1a1e24;--soft:#5a6270;--s0:#1f5fbf}
@media (prefers-color-scheme:dark){:root{--surface:#1d2129;--text:#e7eaef;--soft:#a2abb8;--s0:#86b4ff}}
.paper{fill:var(--surface)}
.heading{font-size:17px;font-weight:650;fill:var(--text)}
"""


def graph(history: Mapping[str, Any], run: RunFacts) -> str:
    """The rating graph of a player, light and dark; ``history`` is of :func:`.views.graph_data.graph_data`."""
    seasons = history["run"].get("seasons", ())
    drawn = history_graph(history["players"], run.format, history["view"], history["span"], seasons)
    heading = f"{cut(drawn['handles'][0], _HEADING_COLUMNS)} · {short(run.title)}"
    style = _graph_style(run.format.titles)
    return Templates.shared().picture("embedded", style, label=drawn["label"], heading=heading, graph=drawn)


def badge(handle: str, rating: float, run: RunFacts, provisional: bool = False) -> str:
    """A badge: the name of the run, and rating and title of a player; a provisional rating has a question mark."""
    step, ladder = run.format.titles.step(rating), run.format.titles.ladder
    title = ladder[step] if step >= 0 else None
    value = run.format.rating(rating) + "?" * provisional + (f" {title.name}" if title else "")
    label = run.name if len(run.name) <= _LABEL_COLUMNS else f"{run.name[: _LABEL_COLUMNS - 1]}…"
    left, right = (_PADDING + _COLUMN * columns_of(text) for text in (label, value))
    colour = with_contrast(title.colour, LIGHT) if title else _PLAIN
    names = {"label": label, "handle": short(handle), "value": value}
    return Templates.shared().picture("badge", style=_BADGE_STYLE, left=left, right=right, colour=colour, **names)


def style_policy(titles: Titles) -> str:
    """A policy of content that allows the style sheets of the pictures and nothing else."""
    digests = (sha256(style.encode()).digest() for style in (_BADGE_STYLE, _graph_style(titles)))
    hashes = " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests)
    return f"default-src 'none'; style-src {hashes}; frame-ancestors 'none'"


def _graph_style(titles: Titles) -> str:
    return _COLOURS + package_files("static")["drawing.css"].decode() + title_styles(titles)
