"""Pictures of a player to embed in other pages: the rating graph and a badge, each one SVG file with its own style."""

from __future__ import annotations

import unicodedata
from base64 import b64encode
from hashlib import sha256

from ..results.titles import Titles
from .colours import LIGHT, title_styles, with_contrast
from .graph import Player, history_graph
from .links import short
from .render import RunFacts, Templates

_LABEL_COLUMNS = 24  # of the name of a run on a badge
_PADDING, _COLUMN = 12, 7  # pixels around a text, and of a character of usual width
_PLAIN = "#2b5797"  # of a badge without a title
_BADGE_STYLE = "text{font:11px Verdana,Geneva,sans-serif;fill:#fff}"
_GRAPH_STYLE = """
:root{--surface:#fff;--soft:#5a6270;--s0:#1f5fbf}
@media (prefers-color-scheme:dark){:root{--surface:#1d2129;--soft:#a2abb8;--s0:#86b4ff}}
.graph{background:var(--surface)}
text{font:12px system-ui,sans-serif;fill:var(--soft)}
.bands rect{fill:var(--band);fill-opacity:var(--depth);stroke:var(--surface);stroke-width:1.5}
.axes path{stroke:var(--soft);stroke-opacity:.22;fill:none}
.belief{fill:var(--s0);fill-opacity:.16}
.names text{font-size:10.5px}
.dots circle{fill:var(--soft);fill-opacity:.55}
.points circle{fill:var(--s0)}
.line{fill:none;stroke:var(--s0);stroke-width:1.8;stroke-linejoin:round}
"""


def graph(player: Player, run: RunFacts) -> str:
    """The rating graph of a player, light and dark."""
    label = f"Ratings of {short(player['handle'])}: {run.name}"
    drawn = history_graph([player], run.format)
    return Templates.shared().picture("embedded", label=label, style=_graph_style(run.format.titles), graph=drawn)


def badge(handle: str, rating: float, run: RunFacts, provisional: bool = False) -> str:
    """A badge: the name of the run, and rating and title of a player; a provisional rating has a question mark."""
    step, ladder = run.format.titles.step(rating), run.format.titles.ladder
    title = ladder[step] if step >= 0 else None
    value = run.format.rating(rating) + "?" * provisional + (f" {title.name}" if title else "")
    label = run.name if len(run.name) <= _LABEL_COLUMNS else f"{run.name[: _LABEL_COLUMNS - 1]}…"
    left, right = (_PADDING + _COLUMN * _columns(text) for text in (label, value))
    colour = with_contrast(title.colour, LIGHT) if title else _PLAIN
    names = {"label": label, "handle": short(handle), "value": value}
    return Templates.shared().picture("badge", style=_BADGE_STYLE, left=left, right=right, colour=colour, **names)


def style_policy(titles: Titles) -> str:
    """A policy of content that allows the style sheets of the pictures and nothing else."""
    digests = (sha256(style.encode()).digest() for style in (_BADGE_STYLE, _graph_style(titles)))
    hashes = " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests)
    return f"default-src 'none'; style-src {hashes}; frame-ancestors 'none'"


def _graph_style(titles: Titles) -> str:
    return _GRAPH_STYLE + title_styles(titles)


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "FW" else 1 for character in text)
