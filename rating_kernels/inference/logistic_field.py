"""The field of one round with logistic performances: its table, and the performance of every tie group.

Source: Ebtekar and Liu, arXiv:2101.00400, section 3.1; the table (:mod:`ranklake.rating_kernels.fields.field`) is this
project's. Participant ``j`` performs logistically around ``mu_j`` with variance sigma_j^2 + beta_j^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.beliefs import Map
from ..core.jit import inner_exact
from ..core.numerics import C3
from ..core.standings import Floats, Longs, Rounds
from ..core.system import ConvergenceError
from ..fields.direct import DIRECT
from ..fields.field import Table, tabulate, tabulate_small
from ..fields.panels import NODES, Plan, check_width, plan, plan_panels
from .performance import Ranks, Ties, bracket, group_starts, solve_groups, weigh_groups, without_table


@dataclass(frozen=True, slots=True)
class FieldSummary:
    """The field of one round: laws of all performances and weights by rank, and the table of their sum.

    ``ranks.first`` may divide the tie groups, whose first rows are ``first``: its sets have a common root.
    """

    by_row: ClassVar[tuple[str, ...]] = ()
    first: Longs
    ranks: Ranks
    ceiling: float
    table: Table


def summarise_field(mu: Floats, sigma: Floats, beta: Floats, round: Rounds, ties: Ties, map: Map) -> FieldSummary:
    """Tabulate the sum over all opponents."""
    return tabulate_field(mu, C3 / np.sqrt(sigma**2 + beta**2), round, ties, map)


def tabulate_field(mu: Floats, omega: Floats, round: Rounds, ties: Ties, map: Map) -> FieldSummary:
    """The field of rates ``omega``, tabulated in fixed blocks of participants."""
    first = group_starts(round.lo)
    above, below = weigh_groups(omega, first)
    table = tabulate(mu, omega, omega, plan_panels(*bracket(mu, omega, above, below, ties)), map)
    return FieldSummary(first, Ranks(mu, omega, first, above, below), round.perf_ceiling[0], table)


def solve_field(summary: FieldSummary, ties: Ties, start: int, stop: int, perf: Floats) -> None:
    """Write the performances of sets ``start`` to ``stop - 1`` with a common root.

    Raises ConvergenceError: a root was not found; has the first row of the set.
    """
    failed = solve_groups(start, stop, summary.ranks, ties, summary.ceiling, True, summary.table, perf)
    if failed >= 0:
        raise ConvergenceError("no performance found", int(summary.ranks.first[failed]))


def empty_field() -> FieldSummary:
    """A field of one participant with an empty table: enough to compile the steps that read it."""
    one, places = np.ones(1), np.zeros(1, dtype=np.int64)
    plan = Plan(0.0, 1.0, 0.0, 1.0, one, places, np.zeros(2, dtype=np.int64))
    ceiling = Rounds.from_columns([0, 1], [0], [0], [0]).perf_ceiling[0]
    table = Table(plan, np.zeros((1, NODES)), np.zeros((1, 2)))
    first = np.array([0, 1])
    return FieldSummary(first, Ranks(one, one, first, one, one), ceiling, table)


@inner_exact
def solve_round(mu, omega, lo, ties, ceiling, result):
    """Write the performance of every participant of one round, in one thread; ``omega`` are the rates of the field.

    Returns int: -1, or the first tie group whose root was not found.
    """
    zero, n = np.int64(0), len(mu)
    first = group_starts(lo)
    above, below = weigh_groups(omega, first)
    low, high, middle, top_rate, bottom_rate = bracket(mu, omega, above, below, ties)
    tabulated, table = n > DIRECT, without_table(low, high, middle, top_rate)
    if tabulated:
        check_width(low, high, top_rate, bottom_rate)
        table = tabulate_small(mu, omega, omega, plan(low, high, middle, top_rate, bottom_rate))
    ranks = Ranks(mu, omega, first, above, below)
    return solve_groups(zero, len(above), ranks, ties, ceiling, tabulated, table, result)


@inner_exact
def solve_small(field, n, ties, ceiling, omega):
    """Write the performances of the ``n`` rows of a :class:`.teams.rounds.FieldRows`; ``omega`` is scratch.

    Returns int: -1, or the first tie group whose root was not found.
    """
    for k in range(n):
        omega[k] = C3 / math.sqrt(field.sigma[k] ** 2 + field.beta[k] ** 2)
    return solve_round(field.mu[:n], omega[:n], field.lo[:n], ties, ceiling, field.perf)
