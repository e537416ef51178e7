"""From an expected score to the chances of a win, a draw and a loss.

A system has one number for a game: the expected score E of the first entrant, a draw counting half. With F = 1 - E
and a number nu >= 0 that says how common draws are,

    win = x / Z,   draw = nu / Z,   loss = (1 / x) / Z,   Z = x + 1 / x + nu

Model "preserving" takes the positive root x of (1 - E) x^2 + nu (1/2 - E) x - E = 0, so that win + draw / 2 = E: the
chances agree with the score that the system rates with. Model "davidson" is Davidson, "On extending the Bradley-Terry
model to accommodate ties in paired comparison experiments", JASA 65 (1970): x = sqrt(E / F), where draws move the score
towards 1/2. Model "none" has no draws: E, 0, F.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.standings import Floats

PRESERVING, DAVIDSON, NONE = MODELS = ("preserving", "davidson", "none")
LEAST = 1e-15  # expected scores from which draws are computed: all three chances are then positive


class ThreeWay(NamedTuple):
    """Chances of the first entrant of each game: float64[...], which add up to 1."""

    win: Floats
    draw: Floats
    loss: Floats

    def swapped(self) -> ThreeWay:
        """The chances of the other entrant."""
        return ThreeWay(self.loss, self.draw, self.win)


def three_way(expected: Any, other: Any, nu: Any, model: str = PRESERVING) -> ThreeWay:
    """The three chances at an expected score.

    ``expected``, ``other``: of each entrant, by the system itself; one minus the other would lose digits near 1.
    ``nu``: how common draws are; the arrays broadcast. At 0 the chances are the expected scores, to the bit.

    Raises ValueError: a number out of range, or another model.
    """
    e, f, nu = np.broadcast_arrays(*(np.asarray(given, dtype=np.float64) for given in (expected, other, nu)))
    _check("an expected score must be in [0, 1]", e, (e >= 0.0) & (e <= 1.0))
    _check("an expected score must be in [0, 1]", f, (f >= 0.0) & (f <= 1.0))
    _check("nu must be >= 0 and finite", nu, (nu >= 0.0) & (nu < np.inf))
    if model not in MODELS:
        raise ValueError(f"the model of draws must be one of {', '.join(MODELS)}, got {model!r}")
    if model == NONE:
        return ThreeWay(e.copy(), np.zeros(e.shape), f.copy())
    low, high = np.maximum(np.minimum(e, f), LEAST), np.maximum(np.maximum(e, f), LEAST)
    if model == PRESERVING:
        half = nu * (0.25 * (high - low))  # half of c: c itself could overflow
        x = low / (half + np.hypot(half, np.sqrt(low * high)))
    else:
        x = np.sqrt(low / high)
    d = x * x + nu * x + 1.0
    under, draw, over = x * x / d, nu * x / d, 1.0 / d
    behind = e <= f
    win, loss = np.where(behind, under, over), np.where(behind, over, under)
    certain = (nu == 0.0) & (model == PRESERVING)
    return ThreeWay(np.where(certain, e, win), draw, np.where(certain, f, loss))


def _check(rule: str, values: Floats, good: Any) -> None:
    if not np.all(good):
        raise ValueError(f"{rule}, got {float(values[~good].flat[0])!r}")
