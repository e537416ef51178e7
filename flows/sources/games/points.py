"""Points of games: read from two columns, compared with the results, or taken for them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels.core.limits import SCORED
from ranklake.rating_kernels.core.standings import Floats

from ...common.text import quoted
from ..columns import as_numbers, is_blank
from .batch import OF_POINTS, Verdicts
from .options import GamesOptions

NO_POINTS = "without points"
_DISAGREE = "with points that do not agree with the result, rated without a margin"


def read_points(
    columns: Mapping[str, pa.ChunkedArray], options: GamesOptions, verdicts: Verdicts, source: str
) -> tuple[Floats, Floats]:
    """The points of both players, more is better; NaN where the column is null or blank."""
    pair = []
    for key in OF_POINTS:
        column = columns[key]
        numbers, missing = as_numbers(column, key, source)
        blank = is_blank(column)
        points: Floats = np.where(blank, np.nan, numbers).astype(np.float64)
        bad = ~blank & (missing | ~SCORED.mask(points))
        if bad.any():
            got = quoted(str(column[int(np.argmax(bad))].as_py()))
            verdicts.refuse(bad, f"points must be a number {SCORED.rule}, or empty if unknown, got {got}")
        pair.append((-points if options.fewer_wins else points) + 0.0)  # no -0.0
    return pair[0], pair[1]


def scores_of(points: tuple[Floats, Floats], verdicts: Verdicts) -> Floats:
    """The scores of the first players: more points win, equal ones draw. Games without points are left out."""
    ahead = points[0] - points[1]
    verdicts.leave_out(np.isnan(ahead), NO_POINTS)
    return 0.5 + 0.5 * np.sign(ahead)


def compare_points(points: tuple[Floats, Floats], score: Floats, options: GamesOptions, verdicts: Verdicts) -> None:
    """Refuse games whose points say another result than their scores, or count them."""
    ahead = points[0] - points[1]
    wrong = np.sign(ahead) != np.sign(score - 0.5)
    wrong &= ~np.isnan(ahead) & ~np.isnan(score)
    if options.points_may_disagree:
        verdicts.note(wrong, _DISAGREE)
    elif wrong.any():
        at = int(np.argmax(wrong))
        one, other = (f"{(-side[at] if options.fewer_wins else side[at]):.15g}" for side in points)
        said = "a draw" if score[at] == 0.5 else f"a {'win' if score[at] > 0.5 else 'loss'} of the first player"
        rule = f"the points {one} and {other} contradict the result, {said}"
        turned = "" if options.fewer_wins else ", --fewer-wins if fewer points win"
        remedy = f"{turned}, --column points= leaves the points out"
        verdicts.refuse(wrong, f"{rule}; --points-may-disagree keeps such games without a margin{remedy}")
