"""The drift that a run of Elo-MMS learns, in plain Python: a dictionary of cells, and sums without rounding."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

Cell = tuple[int, int]

FIRST_ROUNDS = (1, 2, 3, 5, 8, 13, 22, 37, 62, 105)
MOST_DAYS = (3, 6, 12, 24, 48, 96, 192, 384, 768)
RATES = (1, 1, 0.6, 0.4, 0.25, 0.2)


def cell_of(n_rounds: int, days: float) -> Cell:
    """The cell of a player with so many rounds, at least one, after so many days."""
    return bisect_right(FIRST_ROUNDS, n_rounds) - 1, bisect_left(MOST_DAYS, days)


@dataclass
class Drifts:
    """Points of each cell, the observations it remembers, and all its observations."""

    points: dict[Cell, float] = field(default_factory=lambda: defaultdict(float))
    memory: dict[Cell, float] = field(default_factory=lambda: defaultdict(float))
    count: dict[Cell, int] = field(default_factory=lambda: defaultdict(int))

    def gain(self, cell: Cell) -> float:
        """What a skill gains more than those of established players do, in a large round."""
        established = {key: n for key, n in self.count.items() if FIRST_ROUNDS[key[0]] >= 8}
        total = math.fsum(n * self.points[key] for key, n in established.items())
        return self.points[cell] - (total / sum(established.values()) if established else 0.0)

    def learn(self, surprises: Iterable[tuple[Cell, float]]) -> None:
        """Learn from the surprises of one round."""
        of_cell: dict[Cell, list[float]] = defaultdict(list)
        for cell, surprise in surprises:
            of_cell[cell].append(min(60.0, max(-60.0, surprise)))
        everybody = [surprise for some in of_cell.values() for surprise in some]
        for cell, some in of_cell.items():
            excess = math.fsum(some) - len(some) * math.fsum(everybody) / len(everybody)
            rate = RATES[cell[0]] if cell[0] < len(RATES) else 0.15
            self.points[cell] += rate * excess / (len(some) + self.memory[cell] + 1500)
            self.memory[cell] = min(self.memory[cell] + len(some), 20_000)
            self.count[cell] += len(some)
