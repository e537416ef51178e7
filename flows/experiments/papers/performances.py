"""How precisely a round shows a performance: by its number of participants, and by the number of sampled opponents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ranklake.rating_kernels import SYSTEMS, Rounds
from ranklake.rating_kernels.core.beliefs import serial_map
from ranklake.rating_kernels.core.numerics import C3
from ranklake.rating_kernels.core.standings import Floats, Longs
from ranklake.rating_kernels.core.system import Prior

from ...plotting.figures import SERIES, log_scale, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table

SIZES = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000)
SAMPLES = (10, 30, 100, 300, 1_000, 3_000)
SKILLS, DELTA = 300.0, 210.0  # deviation of the skills, and of a performance around its prior mean
CENTRE = 100.0  # points around the mean skill: the performances that are compared
_ROUNDS = 400  # of each size; the errors within a round are alike
_FIELD, _ASKED = 10_000, 120  # the round that is sampled, and the players whose performances are computed from samples
_LARGE = 100  # participants from which on the slope is fitted: in smaller rounds the prior helps


class Played(NamedTuple):
    """A round, best first: prior means of the performances, and the performances."""

    mu: Floats
    true: Floats


def play(rng: np.random.Generator, n: int) -> Played:
    """A round of logistic performances with known means."""
    mu = rng.normal(1500.0, SKILLS, n)
    true = mu + rng.logistic(0.0, DELTA / C3, n)
    order = np.argsort(-true)
    return Played(mu[order], true[order])


def estimate(mu: Floats, start: int, stop: int) -> Floats:
    """The performances of rows ``start`` to ``stop - 1`` of a round without ties, best first, from the places alone."""
    n, system = len(mu), SYSTEMS["elo-mmr"]
    params, rows = system.params(), np.arange(n)
    round = Rounds.from_columns([0, n], rows, rows, rows)
    prior = Prior(mu, np.zeros(n), np.full(n, DELTA), np.zeros(n, dtype=np.int32))
    perf = np.empty(n)
    system.perform(params, system.summarise(params, prior, round, serial_map), start, stop, perf)
    return perf[start:stop]


def expected_error(mu: Floats) -> float:
    """One over the root of the information about a performance at the mean skill: the sum of F (1 - F) / b^2."""
    scale = DELTA / C3
    chance = 1.0 / (1.0 + np.exp((mu - 1500.0) / scale))
    return float(1.0 / np.sqrt(np.sum(chance * (1.0 - chance))) * scale)


def errors(rng: np.random.Generator, n: int, n_rounds: int) -> tuple[float, float]:
    """The root mean square error of performances near the mean skill, in rounds of ``n``; and the expected one."""
    squares, expected = list[Floats](), list[float]()
    for _ in range(n_rounds):
        round = play(rng, n)
        start, stop = np.searchsorted(-round.true, (-1500.0 - CENTRE, -1500.0 + CENTRE)).tolist()
        squares.append((estimate(round.mu, start, stop) - round.true[start:stop]) ** 2)
        expected.append(expected_error(round.mu))
    return float(np.sqrt(np.concatenate(squares).mean())), float(np.mean(expected))


def slope(n: Floats, error: Floats) -> float:
    """The exponent of a power law, by least squares on logarithmic axes."""
    return float(np.polyfit(np.log(n), np.log(error), 1)[0])


def sampled(round: Played, row: int, opponents: Longs) -> float:
    """The performance of one participant against some opponents only."""
    rows = np.sort(np.append(opponents, row))
    at = int(np.searchsorted(rows, row))
    return float(estimate(round.mu[rows], at, at + 1)[0])


def sampling_errors(rng: np.random.Generator, round: Played, asked: Longs, m: int) -> tuple[float, float]:
    """Root mean square difference to the exact performance, from random opponents and from those of nearest rating."""
    exact = estimate(round.mu, 0, len(round.mu))
    squares = np.empty((len(asked), 2))
    for at, row in enumerate(asked):
        others = np.delete(np.arange(len(round.mu)), row)
        nearest = others[np.argsort(np.abs(round.mu[others] - round.mu[row]), kind="stable")[:m]]
        for column, opponents in enumerate((rng.choice(others, m, replace=False), nearest)):
            squares[at, column] = (sampled(round, row, opponents) - exact[row]) ** 2
    random, near = np.sqrt(squares.mean(axis=0)).tolist()
    return random, near


def _performances(context: ExperimentContext) -> Iterator[Part]:
    rng = np.random.default_rng(context.seed)
    found = []
    for n in SIZES:
        context.on_step(f"rounds of {n:,}")
        found.append(errors(rng, n, _ROUNDS))
    error, expected = np.array(found).T
    large = np.array(SIZES) >= _LARGE
    exponent = slope(np.array(SIZES)[large], error[large])
    columns: dict[str, Any] = {
        "participants": SIZES, "error, points": error.tolist(), "by the information of the field": expected.tolist(),
        "error times the root of the participants": (error * np.sqrt(SIZES)).tolist(),
    }  # fmt: skip
    round = play(rng, _FIELD)
    asked = rng.choice(np.flatnonzero(np.abs(round.true - 1500.0) < CENTRE), _ASKED, replace=False)
    samples = []
    for m in SAMPLES:
        context.on_step(f"samples of {m:,}")
        samples.append(sampling_errors(rng, round, asked, m))
    random, nearest = np.array(samples).T
    figure, axes = new_figure(8.0, 4.4)
    axes.plot(SIZES, error, "o-", color=SERIES[0], label="performance − true performance, by participants")
    axes.plot(SIZES, expected, ":", color="#888888", label="expected from the field's information")
    axes.plot(SAMPLES, random, "s--", color=SERIES[1], label="random opponents − all opponents, by opponents")
    axes.plot(SAMPLES, nearest, "^--", color=SERIES[2], label="nearest opponents − all opponents, by opponents")
    log_scale(axes, "x", "y")
    axes.set_xlabel("participants, or sampled opponents")
    axes.set_ylabel("root mean square difference, rating points")
    axes.legend(loc="best", fontsize="small")
    yield Picture.of("errors", "Error of performances", figure)
    yield Table("participants", "Error of performances by the number of participants", columns, 2)
    samples_columns: dict[str, Any] = {
        "opponents": SAMPLES, "random": random.tolist(), "of nearest rating": nearest.tolist(),
    }  # fmt: skip
    caption = f"Difference from the exact performance in a round of {_FIELD:,}, by the number of opponents, points"
    yield Table("opponents", caption, samples_columns, 2)
    yield (
        f"Found: from {_LARGE} participants on, the error falls with the power {exponent:.2f} of their number; the "
        f"paper's order is −1/2. With 1,000 participants it is {error[SIZES.index(1_000)]:.1f} points, "
        f"{expected[SIZES.index(1_000)]:.1f} expected. A sample of 100 random opponents adds "
        f"{random[SAMPLES.index(100)]:.1f} points, one of the 100 nearest {nearest[SAMPLES.index(100)]:.1f}."
    )


EXPERIMENTS = (
    Experiment(
        "performances",
        "Convergence of performances with the number of participants",
        "Sections 2 and 5.3 of Ebtekar and Liu, arXiv:2101.00400",
        _performances,
        [
            "The paper argues that the places of many participants determine a performance, with an error of the order "
            "of one over the root of their number, and that a sample of opponents suffices. Here the prior laws of all "
            f"performances are known: means of deviation {SKILLS:.0f}, logistic noise of deviation {DELTA:.0f}. "
            f"Performances within {CENTRE:.0f} points of the mean skill are compared with the true ones. The systems "
            "here use all opponents: the samples are computed for this page only."
        ],
    ),
)
