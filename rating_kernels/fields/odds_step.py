"""One step of the search for the level at which the sum of a field has a given value.

Newton's method for the logarithm of the odds of the sum, which is almost linear in the level, also in the tails; inside
a bracket, which each step makes narrower.
"""

from __future__ import annotations

import math

from ..core.jit import inner_exact

_TINY = 1e-300


@inner_exact
def odds_step(p, side, value, slope, above, below, low, high, last):
    """The next step from ``p``, the narrower bracket, and whether the step is Newton's: ``step, low, high, newton``.

    ``value``: the expected number above ``p`` (``side`` +1) or below it (-1). ``slope``: its derivative, a size.
    ``above``, ``below``: the numbers that are sought. ``low``, ``high``: the bracket. ``last``: the size of the last
    step, of which a Newton step must be at most half; otherwise the bracket is halved.
    """
    target, rest = (above, below) if side > 0.0 else (below, above)
    value = max(value, _TINY)
    others = max(target + rest - value, _TINY)
    excess = side * math.log(value / target * (rest / others))
    if excess > 0.0:
        low = p
    else:
        high = p
    step = excess * value * others / (slope * (target + rest)) if slope > 0.0 else math.inf
    newton = low <= p + step <= high and abs(step) <= 0.5 * last
    if not newton:
        step = 0.5 * (low + high) - p
    return step, low, high, newton
