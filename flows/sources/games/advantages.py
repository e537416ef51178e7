"""Advantages of first players: a column of a table, or one number for all games."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels.core.limits import ADVANTAGE
from ranklake.rating_kernels.core.standings import Floats

from ...common.text import quoted
from ..base import SourceError
from ..columns import as_numbers, is_blank
from .batch import Verdicts

GAME_ADVANTAGE = replace(ADVANTAGE, low=2.0 * ADVANTAGE.low, high=2.0 * ADVANTAGE.high)
"""Permitted advantages of a first player: each of the two players has half of one, with opposite signs."""


def check_advantage(advantage: float | None, columns: Mapping[str, str]) -> None:
    """Raise ``ValueError`` for an advantage of all games that is no number in the range, or beside a column of
    advantages.
    """
    if advantage is None:
        return
    if not GAME_ADVANTAGE.contains(advantage):
        raise ValueError(f"advantage must be {GAME_ADVANTAGE.rule}, got {advantage}")
    if column := columns.get("advantage"):
        raise ValueError(
            f"--advantage {advantage:g} is for all games and --column advantage={column} has one for each; "
            "give one of the two"
        )


def check_single(advantage: float | None, columns: Collection[str], source: str) -> None:
    """Raise :class:`SourceError` if a table has the column ``advantage`` beside an advantage for all games."""
    if advantage is not None and "advantage" in columns:
        remedies = "leave out --advantage to use it, or leave out the column with --column advantage="
        raise SourceError(f"has a column advantage, and --advantage is {advantage:g}; {remedies}", source)


def judge_advantages(column: pa.ChunkedArray, source: str, verdicts: Verdicts) -> Floats:
    """Rating points in favour of the first player of each game; 0 where the column is null or blank.

    Values that are no number in the range are refused.
    """
    numbers, missing = as_numbers(column, "advantage", source)
    blank = is_blank(column)
    advantage: Floats = np.where(blank, 0.0, numbers)
    bad = (missing & ~blank) | ~GAME_ADVANTAGE.mask(advantage)
    if bad.any():
        rule = f"an advantage must be a number {GAME_ADVANTAGE.rule}, or empty for none"
        given = quoted(str(column[int(np.argmax(bad))].as_py()))
        verdicts.refuse(bad, f"{rule}, got {given}; correct it, or leave out the column with --column advantage=")
    return advantage
