"""Fields of many players, their tables, and exact sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranklake.rating_kernels.fields.blocks import block_starts
from ranklake.rating_kernels.fields.field import accumulate, finish, table_start, table_sum
from ranklake.rating_kernels.fields.panels import Plan, plan_panels
from ranklake.rating_kernels.inference.performance import FULL, Ties, bracket, group_starts, weigh_groups

Floats = np.ndarray[Any, np.dtype[np.float64]]

KINDS = ("spread", "newcomers", "clusters", "gap", "one apart")


def field(kind: str, n: int, rate_ratio: float = 1.0, seed: int = 1) -> tuple[Floats, Floats]:
    """Ratings and rates (1 / scale) of ``n`` players; the largest rate is ``rate_ratio`` times the smallest."""
    draw = np.random.default_rng([seed, n])
    mu = {
        "spread": lambda: draw.normal(1500, 400, n),
        "newcomers": lambda: np.full(n, 1500.0),
        "clusters": lambda: draw.choice([400.0, 1100.0, 1130.0, 2900.0], n),
        "gap": lambda: np.where(np.arange(n) < n // 3, draw.normal(2600, 90, n), draw.normal(900, 90, n)),
        "one apart": lambda: np.where(np.arange(n) == 0, 4800.0, draw.normal(1200, 50, n)),
    }[kind]()
    rate = 1 / 120.0 * rate_ratio ** -draw.random(n)
    rate[draw.permutation(n)[:2]] = 1 / 120.0, 1 / 120.0 / rate_ratio
    return mu, rate


@dataclass(frozen=True)
class Places:
    """Tie groups of a field, and the weights above and below each."""

    first: np.ndarray[Any, np.dtype[np.int64]]
    above: Floats
    below: Floats


def groups(lo: np.ndarray[Any, np.dtype[np.int32]], rate: Floats) -> Places:
    """Tie groups of a field with rates as weights."""
    first = group_starts(lo)
    return Places(first, *weigh_groups(rate, first))


def plan_for(mu: Floats, rate: Floats, ties: Ties = FULL) -> Plan:
    """Panels for a field in which no two tie."""
    places = groups(np.arange(len(mu), dtype=np.int32), rate)
    return plan_panels(*bracket(mu, rate, places.above, places.below, ties))


class Table:
    """The tabulated sum of a field, built in blocks that begin at ``starts`` (the package's own by default)."""

    def __init__(self, mu: Floats, rate: Floats, starts: Any = None, plan: Plan | None = None) -> None:
        self.plan = plan or plan_for(mu, rate)
        starts = block_starts(len(mu)) if starts is None else np.asarray(starts)
        sums, far = self.plan.partial_sums(len(starts) - 1)
        for block in range(len(starts) - 1):
            accumulate(mu, rate, rate, starts[block], starts[block + 1], self.plan, sums[block], far[block])
        self.table = finish(sums, far, self.plan)
        self.series, self.guesses = self.table.series, self.table.guesses

    def side(self, p: float) -> float:
        """+1 where the table holds the weight above ``p``, -1 where it holds the weight below."""
        return 1.0 if p >= self.plan.middle else -1.0

    def at(self, p: float) -> tuple[float, float]:
        """The sum on the side of ``p``, and its slope."""
        value, slope = table_sum(p, self.side(p), self.table)
        return float(value), float(slope)

    def start(self, target: float) -> float:
        """First guess of where the weight above exceeds the weight below by ``target``."""
        return float(table_start(target, self.table))

    def levels(self, count: int) -> Floats:
        """``count`` points over all of the table, both ends and both sides of the middle among them."""
        ends = [self.plan.low, self.plan.high, self.plan.middle, np.nextafter(self.plan.middle, -np.inf)]
        return np.append(np.linspace(self.plan.low, self.plan.high, count), ends)


def slowly(p: float, side: float, mu: Floats, rate: Floats) -> tuple[float, float]:
    """The expected result of :meth:`Table.at`: exact sums of logistic terms."""
    value, slope = [], []
    for m, r in zip(mu.tolist(), rate.tolist(), strict=True):
        q = 1.0 / (1.0 + math.exp(min(side * (p - m) * r, 700.0)))
        value.append(r * q)
        slope.append(-side * r * r * q * (1.0 - q))
    return math.fsum(value), math.fsum(slope)
