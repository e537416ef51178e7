"""A small line of the last ratings of a player, for a cell of a table."""

from __future__ import annotations

from collections.abc import Sequence

N_POINTS = 20
_STEP, _EDGE, _HEIGHT = 6, 3, 32
_WIDTH = 2 * _EDGE + _STEP * (N_POINTS - 1)


def sparkline(ratings: Sequence[float]) -> str:
    """The line of at most ``N_POINTS`` ratings, oldest first, as SVG; empty without two.

    The last rating is at the right end, a round is a step of the same width for all players, and the least and the
    greatest rating of the line are at its edges: its height has no scale.
    """
    if len(ratings) < 2:
        return ""
    low, high = min(ratings), max(ratings)
    if not 0 <= high - low < float("inf"):
        return ""
    scale, start = (_HEIGHT - 2 * _EDGE) / ((high - low) or 1.0), _WIDTH - _EDGE - _STEP * (len(ratings) - 1)
    middle = 0 if high > low else _HEIGHT // 2 - _EDGE
    points = " ".join(
        f"{start + _STEP * i},{round(_HEIGHT - _EDGE - middle - (rating - low) * scale)}"
        for i, rating in enumerate(ratings)
    )
    return f'<svg class=spark viewBox="0 0 {_WIDTH} {_HEIGHT}" aria-hidden=true><polyline points="{points}"/></svg>'
