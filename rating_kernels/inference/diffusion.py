"""Changes of a skill between two rounds: elapsed days and practice."""

from __future__ import annotations

from ..core.beliefs import NEVER
from ..core.jit import inner_exact

_DAY = 86400.0


@inner_exact
def elapsed_days(time_seconds, last_time):
    """Days from the last round to this one; 0 before the first, and if time goes back."""
    return max(time_seconds - last_time, 0) / _DAY if last_time != NEVER else 0.0


@inner_exact
def practice_gain(n_rounds, practice, practice_rounds):
    """Rating points that a skill gains between round ``n_rounds`` and the next one: practice / (1 + n / rounds).

    No gain before the first round: a newcomer's prior has it.
    """
    return practice / (1.0 + n_rounds / practice_rounds) if n_rounds > 0 else 0.0
