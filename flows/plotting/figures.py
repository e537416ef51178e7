"""What figures share: their look, how they become bytes, and names from outside that cannot break them.

Matplotlib is imported only when a figure is wanted, and never pyplot, which would leave state behind. The same figure
gives the same bytes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

from ..common.extras import need
from ..common.text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..common.titles import Titles

__all__ = [
    "FORMATS",
    "SERIES",
    "check_path",
    "drawing",
    "encode",
    "legible",
    "log_scale",
    "new_figure",
    "title_bands",
]

FORMATS = ("png", "svg", "pdf")
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#555555", "#8c564b", "#7f7fff", "#bcbd22")
"""Colours of lines, those that the colour-blind tell apart first (Okabe and Ito)."""

_LONGEST = 32  # characters of a name that have room
_FONTS = ("DejaVu Sans", "Noto Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Emoji", "Unifont")
_LOOK: Any = {
    "text.parse_math": False,  # a dollar in a name is a dollar
    "text.usetex": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "grid.color": "#e5e5e5",
    "font.size": 9.0,
    "legend.frameon": False,
    "svg.hashsalt": "ranklake",
    "svg.fonttype": "path",
    "savefig.dpi": 150.0,
}
_UNDATED: dict[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def check_path(path: str) -> str:
    """The format that a file's name asks for.

    Raises
    ------
    ValueError
        It is none of those that figures have.
    """
    form = PurePath(path).suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise ValueError(f"a figure's file must end in .{', .'.join(FORMATS)}, got {path!r}")
    return form


@contextmanager
def drawing(purpose: str) -> Iterator[None]:
    """Within it figures are made, in our look whatever a person has set up for theirs.

    Raises
    ------
    MissingExtraError
        Matplotlib is not installed.
    """
    need("matplotlib", "report", purpose)
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_LOOK | {"font.family": list(_fonts())})
        yield


def new_figure(
    width: float = 8.0, height: float = 4.5, columns: int = 1, rows: int = 1, **more: Any
) -> tuple[Figure, Any]:
    """A figure in inches, and its axes; labels are given the room they need."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **more)


def encode(figure: Figure, form: str) -> bytes:
    """The figure as a file of this format."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=form, metadata=_UNDATED[form])
    return buffer.getvalue()


def legible(name: str) -> str:
    """A name from outside for a figure: short, and spelled out where no font can show it or it would turn the text."""
    short = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
    shown = visible(short, _characters())
    return f"\u200a{shown}" if shown.startswith("_") else shown  # legends pass such labels over; a hair space helps


def log_scale(axes: Axes, *names: Literal["x", "y"]) -> None:
    """Count axes in powers of ten, with labels in plain numbers."""
    for name in names:
        axis = axes.xaxis if name == "x" else axes.yaxis
        (axes.set_xscale if name == "x" else axes.set_yscale)("log")
        axis.set_major_formatter(lambda value, _: f"{value:,g}")
        axis.set_minor_formatter(lambda value, _: "")


def title_bands(axes: Axes, titles: Titles, horizontal: bool = True) -> None:
    """Tint the ranges of the titles behind the data; not at all where everything lies in one of them."""
    low, high = axes.get_ylim() if horizontal else axes.get_xlim()
    shown = [(least, end, title) for least, end, title in titles.bands() if least < high and end > low]
    if len(shown) > 1 or (shown and shown[0][0] > low):
        span = axes.axhspan if horizontal else axes.axvspan
        for least, end, title in shown:
            span(max(least, low), min(end, high), color=title.colour, alpha=0.10, linewidth=0, zorder=0)
        (axes.set_ylim if horizontal else axes.set_xlim)(low, high)


@cache
def _fonts() -> tuple[str, ...]:
    from matplotlib import font_manager

    there = set(font_manager.get_font_names())
    return tuple(name for name in _FONTS if name in there)


@cache
def _characters() -> frozenset[str]:
    """Characters for which there is a glyph."""
    from matplotlib import font_manager

    files = (font_manager.findfont(name) for name in _fonts())
    return frozenset(chr(code) for file in files for code in font_manager.get_font(file).get_charmap())
