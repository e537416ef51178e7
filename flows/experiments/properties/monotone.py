"""Whether ratings follow performances: Theorem 5.6 of Elo-MMR's paper, and two claims of Elo-R's report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.core.standings import Floats

from ...common.configuration.settings import build_params, find_system
from ...engines.serial import Serial
from ...execution.rounds import rate_rounds
from ...plotting.figures import SERIES, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table
from ..published import Contender
from ..walks import walks
from .incentives import TOLERANCE

PLAYERS, ROUNDS = 20, 60  # all take part in all rounds: 190 pairs a round
HISTORIES, LENGTH = 300, 30  # random histories of performances, and the rounds of each
_PAIRS = [
    Contender("Elo-MMχ", "elo-mmx", {}),
    *(Contender(f"Elo-MMR, rho = {rho:g}", "elo-mmr", {"rho": rho}) for rho in (math.inf, 5.0, 1.0, 0.04, 0.0)),
]
_WALKS = [
    Contender("Elo-R, simple noise", "elo-r", {"noise": "simple"}),
    Contender("Elo-R, exact noise", "elo-r", {}),
    *(Contender(f"Elo-MMR, rho = {rho:g}", "elo-mmr", {"rho": rho}) for rho in (1.0, 0.04)),
    Contender("Elo-MMχ", "elo-mmx", {}),
]
_PROVED = (  # of the two properties; the weights of all performances do not depend on any performance
    {"Elo-R, simple noise", "Elo-MMR, rho = 1", "Elo-MMR, rho = 0.04", "Elo-MMχ"},
    {"Elo-MMχ"},  # a mean whose weights grow with the round
)


class Violations(NamedTuple):
    """Cases, those that violate a property, and the worst violation in rating points."""

    cases: int
    violations: int
    worst: float

    @classmethod
    def of(cls, excess: Floats) -> Violations:
        """``excess``: by how much each case violates the property; negative if it holds."""
        return cls(len(excess), int(np.count_nonzero(excess > TOLERANCE)), max(0.0, float(excess.max(initial=0.0))))


def league(rng: np.random.Generator) -> Rounds:
    """Rounds with ties in which everybody takes part; the skills drift."""
    skill, lo, hi, orders = rng.normal(1500.0, 300.0, PLAYERS), [], [], []
    for _ in range(ROUNDS):
        skill += rng.normal(0.0, 35.0, PLAYERS)
        shown = -np.rint((skill + rng.normal(0.0, 200.0, PLAYERS)) / 60.0)
        order = np.argsort(shown, kind="stable")
        ranked = shown[order]
        orders.append(order)
        lo.append(np.searchsorted(ranked, ranked, side="left"))
        hi.append(np.searchsorted(ranked, ranked, side="right") - 1)
    offsets, times = PLAYERS * np.arange(ROUNDS + 1), 86_400 * np.arange(1, ROUNDS + 1)
    return Rounds.from_columns(offsets, np.concatenate(orders), np.concatenate(lo), np.concatenate(hi), times)


def overtaking(one: Contender, rounds: Rounds) -> Violations:
    """Theorem 5.6 for every pair of players with equal sigma in every round.

    Let i be rated at least as high as j before. If i finishes before j, it must be rated higher afterwards; if j
    finishes before i, j must gain more. Equal places are no case of the theorem, and are counted as satisfied.
    """
    system = find_system(one.system)
    params = build_params(system, one.settings)
    outcome = rate_rounds(system, params, system.newcomers(params, PLAYERS), rounds, Serial())
    excess = []
    for r in range(len(rounds)):
        rows = slice(rounds.offsets[r], rounds.offsets[r + 1])
        before, after, lo = outcome.mu_prior[rows], outcome.mu[rows], rounds.lo[rows]
        i, j = np.triu_indices(PLAYERS, 1)
        i, j = np.where(before[i] >= before[j], (i, j), (j, i))
        gain = after - before
        broken = np.where(lo[i] < lo[j], after[j] - after[i], gain[i] - gain[j])
        excess.append(np.where(lo[i] == lo[j], -np.inf, broken))
    return Violations.of(np.concatenate(excess))


def histories(rng: np.random.Generator) -> Floats:
    """Performances ``[round, history]``: a level that jumps now and then, and noise."""
    jumps = rng.normal(0.0, 500.0, (LENGTH, HISTORIES)) * (rng.random((LENGTH, HISTORIES)) < 0.1)
    return 1500.0 + np.cumsum(jumps, axis=0) + rng.normal(0.0, 200.0, (LENGTH, HISTORIES))


def raised(one: Contender, performances: Floats, rng: np.random.Generator) -> Violations:
    """Property 1: one performance of each history becomes better, and the last rating must not be lower."""
    better, columns = performances.copy(), np.arange(performances.shape[1])
    better[rng.integers(0, len(better), len(columns)), columns] += rng.exponential(400.0, len(columns))
    return Violations.of(walks(one, performances)[0][-1] - walks(one, better)[0][-1])


def swapped(one: Contender, performances: Floats, rng: np.random.Generator) -> Violations:
    """Property 2: the better one of two performances moves to the later round; the last rating must not be lower."""
    other, columns = performances.copy(), np.arange(performances.shape[1])
    first, second = np.sort(rng.permuted(np.tile(np.arange(len(other))[:, None], len(columns)), axis=0)[:2], axis=0)
    worse, better = np.sort(np.stack([performances[first, columns], performances[second, columns]]), axis=0)
    other[first, columns], other[second, columns] = better, worse
    early = walks(one, other)[0][-1]
    other[first, columns], other[second, columns] = worse, better
    return Violations.of(early - walks(one, other)[0][-1])


def _monotone(context: ExperimentContext) -> Iterator[Part]:
    rounds = league(np.random.default_rng(context.seed))
    rows: list[tuple[Any, ...]] = []
    for one in _PAIRS:
        context.on_step(f"pairs: {one.label}")
        rows.append((one.label, one.system == "elo-mmx" or one.settings["rho"] == math.inf, *overtaking(one, rounds)))
    headings = ("system", "proved", "pairs", "violations", "worst, points")
    yield Table.of_rows("pairs", "Theorem 5.6: pairs of players with equal sigma, in one round", headings, rows, 2)
    performances = histories(np.random.default_rng(context.seed))
    found: dict[str, list[Violations]] = {}
    for one in _WALKS:
        context.on_step(f"histories: {one.label}")
        checks = (raised, swapped)
        found[one.label] = [check(one, performances, np.random.default_rng(context.seed)) for check in checks]
    claims = ("a better performance never lowers the rating", "a better performance later never lowers the rating")
    lines = [
        (claim, label, label in _PROVED[at], *violations[at])
        for at, claim in enumerate(claims)
        for label, violations in found.items()
    ]
    columns = ("property", "system", "proved", "histories", "violations", "worst, points")
    yield Table.of_rows("histories", "Properties 1 and 2 of Elo-R's report: random histories", columns, lines, 2)
    figure, axes = new_figure(7.5, 3.4)
    for at, (claim, colour) in enumerate(zip(("property 1", "property 2"), SERIES, strict=False)):
        counts = [violations[at].violations for violations in found.values()]
        axes.barh(np.arange(len(found)) + 0.4 * at - 0.2, counts, 0.38, color=colour, label=claim)
    axes.set_yticks(range(len(found)), list(found))
    axes.invert_yaxis()
    axes.set_xlabel(f"violations in {HISTORIES} random histories")
    axes.legend(loc="lower right")
    yield Picture.of("violations", "Violations of the two properties", figure)
    forgetting = sum(row[3] for row in rows if row[1])
    exact, simple = found["Elo-R, exact noise"], found["Elo-R, simple noise"]
    yield (
        f"Found: Theorem 5.6 has {forgetting} violations where it is proved. Property 1 has {simple[0].violations} "
        f"with simple noise and {exact[0].violations} with the exact noise that the report recommends. Property 2 is "
        f"false in general: {simple[1].violations} violations with simple noise, {exact[1].violations} with exact "
        f"noise, {found['Elo-MMR, rho = 1'][1].violations} with Elo-MMR and rho 1."
    )


EXPERIMENTS = (
    Experiment(
        "monotone",
        "Whether ratings follow performances",
        "Theorem 5.6 of Ebtekar and Liu, arXiv:2101.00400; section 6 of “Elo-R Competition Rating System” (2015, 2020)",
        _monotone,
        [
            "For a system without memory, a player rated higher stays higher after winning, and one rated lower gains "
            "more after winning, if both have the same sigma. Elo-R's report claims two properties of its own system: "
            "the rating grows with each past performance; and exchanging two performances, so that the better one "
            "comes later, raises it."
        ],
        [
            "The report's reason for the second property, that uncertainties do not depend on performances, does not "
            "hold for its own exact noise. It would not suffice either: the pull of a performance depends on its "
            "distance from all others. Therefore only the proved rows are tested."
        ],
    ),
)
