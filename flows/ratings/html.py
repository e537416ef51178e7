"""Ratings in a cell of a notebook."""

from __future__ import annotations

from html import escape

import pandas as pd

from ..common.text import visible

__all__ = ["ratings_html"]


def ratings_html(title: str, leaderboard: pd.DataFrame, decimals: int) -> str:
    """A title and the top of the leaderboard as HTML; names cannot break it."""
    shown = leaderboard[["place", "player", "rating", "mu", "sigma", "n_rounds"]]
    shown = shown.assign(player=[visible(str(player)) for player in shown["player"]])
    table = shown.to_html(index=False, border=0, escape=True, float_format=lambda value: f"{value:,.{decimals}f}")
    return f"<div><p><code>{escape(visible(title))}</code></p>{table}</div>"
