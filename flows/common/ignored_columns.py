"""Columns of contests that a system ignores (``System.ignores``), counted and said: nothing is ignored in silence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

import numpy as np

from ranklake.rating_kernels import Rounds, System

from .text import count

__all__ = ["IN_COMMAND", "IN_PYTHON", "count_ignored", "ignored_lines"]

IN_COMMAND, IN_PYTHON = "`ranklake systems` shows", "ranklake.systems() shows"
_NEUTRAL = {"weight": 1.0, "perf_ceiling": math.inf}  # values that mean the same to every system
_NAMED = {"weight": "a weight other than 1", "perf_ceiling": "a perf_ceiling"}


def count_ignored(system: System, rounds: Rounds) -> Counter[str]:
    """The number of rounds with a value of a column that the system ignores, by column; empty if there are none."""
    counts = {name: np.count_nonzero(getattr(rounds, name) != _NEUTRAL[name]) for name in system.ignores}
    return Counter[str]({name: int(n) for name, n in counts.items() if n})


def ignored_lines(system: System, ignored: Mapping[str, int], where: str = "") -> list[str]:
    """One line for each ignored column, with the remedy :data:`IN_COMMAND` or :data:`IN_PYTHON`, if any."""
    remedy = f"; {where} which systems read it" if where else ""
    return [
        f"{system.name} ignores {name}, and {count(n, 'round')} {'has' if n == 1 else 'have'} {_NAMED[name]}{remedy}"
        for name, n in ignored.items()
    ]
