"""Tables in a cell of a notebook."""

from __future__ import annotations

from html import escape

import pandas as pd

from ..common.text import visible

__all__ = ["titled_table"]


def titled_table(title: str, table: pd.DataFrame, decimals: int) -> str:
    """A title and a table with a column ``player`` as HTML; names cannot break it."""
    shown = table.assign(player=[visible(str(player)) for player in table["player"]])
    html = shown.to_html(index=False, border=0, escape=True, float_format=lambda value: f"{value:,.{decimals}f}")
    return f"<div><p><code>{escape(visible(title))}</code></p>{html}</div>"
