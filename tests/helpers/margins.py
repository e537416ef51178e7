"""Rounds of games with points."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.core.margins import MarginParams

_OF_MARGINS = {field.name: field.default for field in dataclasses.fields(MarginParams)}


def without_margins(params: Mapping[str, Any]) -> dict[str, Any]:
    """Hyperparameters for a twin that has no margins."""
    given = {name: value for name, value in params.items() if name in _OF_MARGINS}
    assert given.items() <= _OF_MARGINS.items(), given
    return {name: value for name, value in params.items() if name not in _OF_MARGINS}


def rounds_of_games(games: Sequence[Sequence[Any]], **columns: Any) -> Rounds:
    """Games as ``(a, b, points of a, points of b, advantage of a)``: more points win, equal ones draw."""
    player, lo, hi, points, advantage = [], [], [], [], []
    for a, b, scored, against, more in games:
        won, drawn = scored >= against, scored == against
        player += [a, b] if won else [b, a]
        points += [scored, against] if won else [against, scored]
        advantage += [0.5 * more, -0.5 * more] if won else [-0.5 * more, 0.5 * more]
        lo, hi = [*lo, 0, 0 if drawn else 1], [*hi, 1 if drawn else 0, 1]
    return Rounds.from_columns(
        2 * np.arange(len(games) + 1), player, lo, hi, advantage=advantage, points=points, **columns
    )
