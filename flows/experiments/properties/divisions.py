"""What a rating does at the boundary between two divisions that it draws itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.core.standings import Floats, Longs

from ...common.configuration.settings import build_params, find_system
from ...compilation.compile import compile_kernels
from ...engines.threads import Threads
from ...execution.rounds import rate_rounds
from ...plotting.figures import SERIES, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table
from ..published import Contender

BOUNDARY = 1900.0
PLAYERS, ROUNDS, COMBINED = 4_000, 160, 4  # every fourth round has no divisions
SKILL, NOISE, DRIFT = 400.0, 200.0, 10.0  # standard deviations of skills, performances, and a skill's change a round
HISTORIES = 8
_SETTLED, _EVERY = 80, 8  # rounds before the first one that is measured, and between those
_NEAR, _WIDE = 200.0, 600.0  # points around the boundary: of the fits of the bias, and of that of the density
_GAP, _BIN = 100.0, 50.0
_SYSTEMS = [
    Contender("Codeforces, r327", "codeforces", {"rule": "r327"}),
    Contender("Elo-R", "elo-r", {}),
    Contender("Elo-MMR", "elo-mmr", {}),
]


@dataclass(frozen=True, slots=True)
class Observed:
    """Skills and ratings of all players after the measured rounds, and how many players changed sides in a round."""

    skill: Floats
    rating: Floats
    crossings: float


def simulate(one: Contender, seed: int, n_players: int = PLAYERS, n_rounds: int = ROUNDS) -> Observed:
    """Rate rounds whose divisions are drawn by the ratings before each of them; a random half takes part."""
    rng = np.random.default_rng(seed)
    system = find_system(one.system)
    params = build_params(system, one.settings)
    beliefs = system.newcomers(params, n_players)
    skill = rng.normal(1500.0, SKILL, n_players)
    skills, ratings, crossed = list[Floats](), list[Floats](), list[int]()
    compile_kernels(system.name, [n_players // 10, n_players // 2])
    with Threads() as engine:
        for r in range(n_rounds):
            field = rng.permutation(n_players)[: n_players // 2]
            skill[field] += rng.normal(0.0, DRIFT, len(field))
            order = field[np.argsort(-(skill[field] + rng.normal(0.0, NOISE, len(field))))]
            first = beliefs.mu >= BOUNDARY
            rate_rounds(system, params, beliefs, _rounds(order, first[order], r), engine)
            if r >= _SETTLED:
                crossed.append(int(np.count_nonzero((beliefs.mu >= BOUNDARY) != first)))
                if r % _EVERY == 0:
                    skills.append(skill.copy())
                    ratings.append(beliefs.mu.copy())
    return Observed(np.concatenate(skills), np.concatenate(ratings), float(np.mean(crossed)))


def _rounds(order: Longs, first: Any, r: int) -> Rounds:
    """One combined round, or two divisions of one event."""
    parts = [order] if r % COMBINED == COMBINED - 1 else [order[first], order[~first]]
    parts = [part for part in parts if len(part) > 1]
    sizes = [len(part) for part in parts]
    places = np.concatenate([np.arange(size) for size in sizes])
    time = 86_400 * (r + 1)
    return Rounds.from_columns(np.cumsum([0, *sizes]), np.concatenate(parts), places, places, [time] * len(parts))


def jump(found: Observed) -> float:
    """Rating minus skill at the boundary: that of a line through the skills above it, less that of one below."""
    ends = []
    for side in (1.0, -1.0):
        x = side * (found.skill - BOUNDARY)
        near = (x >= 0.0) & (x < _NEAR)
        ends.append(float(np.polyfit(x[near], (found.rating - found.skill)[near], 1)[1]))
    return ends[0] - ends[1]


def density(found: Observed) -> float:
    """Ratings near the boundary, over the number by a smooth density: a parabola through the logarithms around them."""
    edges = np.arange(BOUNDARY - _WIDE, BOUNDARY + _WIDE + 1.0, _BIN)
    counts, middle = np.histogram(found.rating, edges)[0], 0.5 * (edges[1:] + edges[:-1]) - BOUNDARY
    near = np.abs(middle) < _GAP
    used = ~near & (counts > 0)
    curve = np.polyfit(middle[used], np.log(counts[used]), 2, w=np.sqrt(counts[used]))
    return float(counts[near].sum() / np.exp(np.polyval(curve, middle[near])).sum())


def _divisions(context: ExperimentContext) -> Iterator[Part]:
    found: dict[str, list[Observed]] = {one.label: [] for one in _SYSTEMS}
    for seed in range(HISTORIES):
        for one in _SYSTEMS:
            context.on_step(f"history {seed + 1} of {HISTORIES}: {one.label}")
            found[one.label].append(simulate(one, HISTORIES * context.seed + seed))
    rows = []
    for label, all_of in found.items():
        jumps = np.array([jump(one) for one in all_of])
        means = (float(np.mean([of(one) for one in all_of])) for of in (density, lambda one: one.crossings, spread))
        rows.append((label, float(jumps.mean()), float(jumps.std(ddof=1) / len(jumps) ** 0.5), *means))
    yield Picture.of("boundary", "Bias by skill, and ratings near the boundary, in the first history", _figure(found))
    headings = (
        "system", "jump of the bias, points", "its standard error", "ratings within 100 points, of the expected",
        "crossings a round", "error of a linear fit, points",
    )  # fmt: skip
    caption = f"At the boundary between the divisions, means of {HISTORIES} histories"
    yield Table.of_rows("boundary", caption, headings, rows, dict.fromkeys(headings, 1) | {headings[3]: 3})
    steps = ", ".join(f"{row[1]:+.1f} ± {row[2]:.1f} ({row[0]})" for row in rows)
    shares = ", ".join(f"{row[3]:.2f} ({row[0]})" for row in rows)
    yield (
        f"Found: across the boundary, rating minus skill jumps by {steps} points. Within 100 points of it there are "
        f"{shares} times as many ratings as a smooth density has."
    )


def spread(found: Observed) -> float:
    """The error of skills by ratings: the deviation of the rest of a linear fit."""
    slope, level = np.polyfit(found.rating, found.skill, 1)
    return float(np.std(found.skill - slope * found.rating - level))


def _figure(found: dict[str, list[Observed]]) -> Any:
    figure, (left, right) = new_figure(10.5, 4.2, columns=2)
    edges = np.arange(BOUNDARY - _WIDE, BOUNDARY + _WIDE + 1.0, _BIN)
    middle = 0.5 * (edges[1:] + edges[:-1])
    for (label, (one, *_)), colour in zip(found.items(), SERIES, strict=False):
        at = np.digitize(one.skill, edges) - 1
        bias = [float((one.rating - one.skill)[at == i].mean()) for i in range(len(middle))]
        left.plot(middle, bias, "o-", color=colour, label=label, markersize=3, linewidth=1.2)
        right.plot(middle, np.histogram(one.rating, edges)[0], "o-", color=colour, markersize=3, linewidth=1.2)
    for axes, title, label in ((left, "rating minus skill, points", "skill"), (right, "number of ratings", "rating")):
        axes.axvline(BOUNDARY, color="#999999", linewidth=0.8, linestyle=":")
        axes.set_title(title)
        axes.set_xlabel(label)
    left.legend(loc="best")
    return figure


EXPERIMENTS = (
    Experiment(
        "divisions",
        "The boundary between two divisions",
        "Section 1 of “Elo-R Competition Rating System” (2015, 2020): artefacts of Codeforces between divisions",
        _divisions,
        [
            f"{PLAYERS:,} players with known skills (deviation {SKILL:.0f}, changing by {DRIFT:.0f} points a round) "
            f"play {ROUNDS} rounds, a random half of them each. A player rated {BOUNDARY:.0f} or more before a round "
            f"plays in division 1; every {COMBINED}th round has no divisions. Each system draws its own divisions. The "
            "players above and below the boundary meet only in the combined rounds, so a system may put a step between "
            "them, or a heap of ratings at the boundary."
        ],
    ),
)
