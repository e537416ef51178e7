"""Words of findings: what an experiment found, from the numbers of its own run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def extreme(values: Mapping[str, float], of: Callable[..., Any] = max, digits: int = 2, unit: str = "") -> str:
    """The name with the largest value, or the least by ``min``, and the value: ``elo-mmr (78.60 %)``; NaN is none."""
    known = {name: value for name, value in values.items() if not math.isnan(value)}
    if not known:
        return "no system"
    name = of(known, key=known.__getitem__)
    return f"{name} ({known[name]:,.{digits}f}{unit})"


def span(values: Mapping[str, float], digits: int = 2, unit: str = "") -> str:
    """The least and the largest value with their names: ``from elo (0.10 s) to bar (0.30 s)``."""
    return f"from {extreme(values, min, digits, unit)} to {extreme(values, max, digits, unit)}"


def listed(words: Iterable[str], otherwise: str) -> str:
    """The words with commas between them; ``otherwise`` without any."""
    return ", ".join(words) or otherwise
