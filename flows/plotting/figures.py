"""Common parts of figures: style, encoding, and safe labels for names from outside.

Matplotlib is imported when the first figure is made. Pyplot is never imported, as it keeps global state. The same
figure gives the same bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

from ..common.extras import need
from ..common.text import count, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..results.titles import Titles

FORMATS = ("png", "svg", "pdf")
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#555555", "#8c564b", "#7f7fff", "#bcbd22")
"""Colours of lines, suitable for colour-blind readers (Okabe and Ito)."""

_LONGEST = 32  # maximum length of a name in a figure
_FONTS = (
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans CJK TC",
    "Noto Sans CJK KR",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Thai",
    "Noto Sans Devanagari",
    "Noto Sans Bengali",
    "Noto Sans Tamil",
    "Noto Sans Georgian",
    "Noto Sans Armenian",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "IPAGothic",
    "NanumGothic",
    "Droid Sans Fallback",
    "Arial Unicode MS",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Segoe UI",
    "Nirmala UI",
    "PingFang SC",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Noto Emoji",
    "Segoe UI Symbol",
    "Unifont",
)
"""Of every platform, in the order in which a letter is looked for; those that are installed are used."""
_LOOK: Any = {
    "text.parse_math": False,  # a dollar sign in a name is no formula
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
    """The format for the extension of a file's name; raises ValueError: the extension is not one of the formats."""
    form = PurePath(path).suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise ValueError(f"a figure's file must end in .{', .'.join(FORMATS)}, got {path!r}")
    return form


_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
_PICTURES = re.compile("[\u2600-\u27bf\U0001f000-\U0001faff]")
_UNDRAWN: ContextVar[set[str] | None] = ContextVar("undrawn", default=None)  # letters that no font has


@contextmanager
def drawing(purpose: str) -> Iterator[set[str]]:
    """Make figures inside this context in this package's style, independent of the user's; needs matplotlib.

    Yields the letters of labels for which there is no font, which grow as labels are drawn; see :func:`font_line`.
    """
    need("matplotlib", "report", purpose)
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_LOOK | {"font.family": list(_fonts())})
        undrawn: set[str] = set()
        token = _UNDRAWN.set(undrawn)
        try:
            yield undrawn
        finally:
            _UNDRAWN.reset(token)


def font_line(undrawn: Collection[str]) -> str:
    """Which package of the system has fonts for letters that labels lack; empty if there are none."""
    kinds = ((_CJK, "fonts-noto-cjk"), (_PICTURES, "fonts-symbola"))
    packages = sorted({next((name for kind, name in kinds if kind.match(one)), "fonts-noto-core") for one in undrawn})
    if not packages:
        return ""
    some = " ".join(sorted(undrawn)[:5])
    return (
        f"no font for {count(len(undrawn), 'letter')} of names, which are shown by their codes ({some}): install "
        f"{' and '.join(packages)} (names of Debian and Ubuntu), then draw again"
    )


@contextmanager
def small_drawing() -> Iterator[None]:
    """Inside :func:`drawing`: letters are text, not outlines, so that figures take a fraction of the bytes."""
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        yield


def without_digits(svg: bytes) -> bytes:
    """A figure with coordinates to a hundredth of a point, and without notes of its origin."""
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg.decode("utf-8"), flags=re.DOTALL)
    return re.sub(r"\n\s*", "\n", rounded(text, 2)).encode("utf-8")


def rounded(svg: str, digits: int) -> str:
    """A figure with coordinates of so many decimals; its labels stay as they are."""

    def number(found: re.Match[str]) -> str:
        return f"{float(found[0]):.{digits}f}".rstrip("0").rstrip(".")

    longer = re.compile(rf"\d+\.\d{{{digits + 1},}}")
    return re.sub(r"<[^>]*>", lambda tag: longer.sub(number, tag[0]), svg)


def new_figure(width: float = 8.0, height: float = 4.5, columns: int = 1, **more: Any) -> tuple[Figure, Any]:
    """A figure of a size in inches, and its axes; the layout makes room for labels."""
    figure = _shown_figure()(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, columns, **more)


def new_grid(width: float, height: float, n_rows: int, n_columns: int) -> tuple[Figure, list[Axes]]:
    """A figure with panels of the same axes, row by row."""
    figure = _shown_figure()(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False).flat)


def encode(figure: Figure, form: str) -> bytes:
    """The figure as a file of this format."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=form, metadata=_UNDATED[form])
    return buffer.getvalue()


def legible(name: str) -> str:
    """A name from outside as a label: shortened; direction controls and characters without a glyph are escaped."""
    short = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
    if (undrawn := _UNDRAWN.get()) is not None:
        undrawn.update(set(visible(short)) - _characters())
    shown = visible(short, _characters())
    return (
        f"\u200a{shown}" if shown.startswith("_") else shown
    )  # legends skip labels that begin with _; a hair space prevents it


def log_scale(axes: Axes, *names: Literal["x", "y"]) -> None:
    """Make axes logarithmic, with labels in plain numbers."""
    for name in names:
        axis = axes.xaxis if name == "x" else axes.yaxis
        (axes.set_xscale if name == "x" else axes.set_yscale)("log")
        axis.set_major_formatter(lambda value, _: f"{value:,g}")
        axis.set_minor_formatter(lambda value, _: "")


def title_bands(axes: Axes, titles: Titles) -> None:
    """Shade the ranges of the titles behind the data, unless all data lie in one range."""
    low, high = axes.get_ylim()
    shown = [(least, end, title) for least, end, title in titles.bands() if least < high and end > low]
    if len(shown) > 1 or (shown and shown[0][0] > low):
        for least, end, title in shown:
            axes.axhspan(max(least, low), min(end, high), color=title.colour, alpha=0.10, linewidth=0, zorder=0)
        axes.set_ylim(low, high)


@cache
def _shown_figure() -> type[Figure]:
    """Figures that a notebook shows without pyplot."""
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        def _repr_png_(self) -> bytes:
            with drawing("a figure"):
                return encode(self, "png")

    return ShownFigure


@cache
def _fonts() -> tuple[str, ...]:
    from matplotlib import font_manager

    there = set(font_manager.get_font_names())
    return tuple(name for name in _FONTS if name in there)


@cache
def _characters() -> frozenset[str]:
    """Characters that have a glyph in the fonts."""
    from matplotlib import font_manager

    files = (font_manager.findfont(name) for name in _fonts())
    return frozenset(chr(code) for file in files for code in font_manager.get_font(file).get_charmap())
