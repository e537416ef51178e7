"""The margin of victory of a contest of two, as the run counted it."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from ranklake.rating_kernels.core.margins import counted, factor, margin_rule

from ...common.margins import uses_points
from ...compilation.compile import announce_compilation
from ...results.display import Display
from ...results.rated_rounds import RatedRounds


class GameMargin(NamedTuple):
    """How often a game counted, and why.

    ``points``, ``opponent_points``: of the player and of the opponent.
    ``difference``: d, the winner's points less the loser's in units, as far as it counts; 0 for a draw.
    ``lead``: x, the winner's strength before the game less the loser's, rating points; of the player in a draw.
    ``factor``: m.
    """

    points: float
    opponent_points: float
    difference: float
    lead: float
    factor: float


def game_margin(rounds: RatedRounds, display: Display, rows: pa.Table, at: int) -> GameMargin | None:
    """The margin of the game of a round with these rows, for the player in row ``at``; None if it had none."""
    if rows.num_rows != 2 or not uses_points(display.params):
        return None
    points = rounds.points_of(rows).to_pylist()
    if None in points:
        return None
    lo, mu = (rows.column(name).to_pylist() for name in ("lo", "mu_prior"))
    drawn, winner = lo[0] == lo[1], at if lo[at] <= lo[1 - at] else 1 - at
    lead, rule = mu[winner] - mu[1 - winner], margin_rule(display.params)
    with announce_compilation(display.system.name):
        d = counted(rule, points[winner] - points[1 - winner], drawn)
        return GameMargin(points[at], points[1 - at], d, lead, factor(rule, d, lead))
