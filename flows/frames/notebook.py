"""What a notebook shows beside results: tables as HTML, and warnings at the line of the user's own code."""

from __future__ import annotations

import sys
import warnings
from html import escape

import pandas as pd

from ..common.text import visible


def titled_table(title: str, table: pd.DataFrame, decimals: int) -> str:
    """A title and a table with a column ``player`` as HTML; names cannot break it."""
    shown = table.assign(player=[visible(str(player)) for player in table["player"]])
    html = shown.to_html(index=False, border=0, escape=True, float_format=lambda value: f"{value:,.{decimals}f}")
    return f"<div><p><code>{escape(visible(title))}</code></p>{html}</div>"


def warn_user(text: str) -> None:
    """Warn at the innermost line outside of this package, so that Python shows the warning once for each such line."""
    frame, level = sys._getframe(1), 3
    package = __name__.partition(".")[0]
    while frame.f_back is not None and frame.f_back.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)
