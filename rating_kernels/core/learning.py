"""State of a whole run: arrays that belong to no player, which rounds read and change.

The first step of a round reads them. After the round they change once, by sums over its participants. The sums are
whole numbers, whose order does not matter: blocks of players, threads and workers give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .beliefs import Beliefs
from .standings import Floats, Longs, Rounds

SharedArrays = dict[str, Floats]


@dataclass(frozen=True, slots=True)
class Learning:
    """The state that rounds share, and how a system changes it.

    ``switch``: the hyperparameter, true or false, without which there is no such state.
    ``shapes``: names and shapes of the arrays, which are zero at first.
    ``sums``: shape of the sums.
    ``reads``: (params, participants) -> whether a round of this size reads and changes the state.
    ``observe``: (params, beliefs, round, prior, start, stop, perf, sums); adds participants ``start`` to ``stop - 1``,
    whose beliefs are those before the last step.
    ``learn``: (params, arrays, sums); changes the arrays in place after a round.
    """

    switch: str
    shapes: Mapping[str, tuple[int, ...]]
    sums: tuple[int, ...]
    reads: Callable[[Any, int], bool]
    observe: Callable[[Any, Beliefs, Rounds, Any, int, int, Floats, Longs], None]
    learn: Callable[[Any, SharedArrays, Longs], None]

    def shapes_of(self, params: Any) -> Mapping[str, tuple[int, ...]]:
        """Names and shapes of the arrays with these hyperparameters; none without the switch."""
        return self.shapes if getattr(params, self.switch) else {}


class Tally:
    """The sums over one round, which is added by ranges of participants in any order, also by several threads.

    Without a state, or in a round that does not read it, nothing is done.
    """

    def __init__(self, learning: Learning | None, params: Any, beliefs: Beliefs, round: Rounds, prior: Any) -> None:
        reads = bool(beliefs.shared) and learning is not None and learning.reads(params, int(round.participants[0]))
        self._learning = learning if reads else None
        self._given = params, beliefs, round, prior
        self._parts: list[Longs] = []

    def add(self, start: int, stop: int, perf: Floats) -> None:
        """Add participants ``start`` to ``stop - 1`` before the last step changes their beliefs."""
        if self._learning is not None:
            sums = np.zeros(self._learning.sums, dtype=np.int64)
            self._learning.observe(*self._given, start, stop, perf, sums)
            self._parts.append(sums)

    @property
    def sums(self) -> Longs | None:
        """The sums so far; None if the round does not change the state."""
        return None if self._learning is None else add_sums(self._learning, self._parts)

    def close(self) -> None:
        """Change the state by the sums."""
        if self._learning is not None:
            params, beliefs, *_ = self._given
            self._learning.learn(params, beliefs.shared, add_sums(self._learning, self._parts))


def add_sums(learning: Learning, parts: list[Longs]) -> Longs:
    """The sums over all parts of a round."""
    total = np.zeros(learning.sums, dtype=np.int64)
    for part in parts:
        total += part
    return total
