"""Calibration of the win probabilities of each system, on real histories."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ranklake.rating_kernels import SYSTEMS, Outcome, Prior, Rounds
from ranklake.rating_kernels.core.standings import Floats, Longs

from ...common.text import slug as slug_of
from ...evaluation.scores import Mask
from ...plotting.figures import SERIES, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table, of_each
from ..data import History
from ..published import LIKE, TUNED, Contender, contenders

BINS = np.linspace(0.5, 1.0, 11)
EXPERIENCE = 5  # rounds that both players must have before
MOST_PAIRS = 2_000_000


@dataclass(frozen=True, slots=True)
class Calibration:
    """Predicted chances of favourites against results.

    ``pairs``, ``predicted``, ``seen`` (one entry a bin): number of pairs; mean chance of the favourite; share of
    favourites that finished first, ties counted half.
    ``error``: mean distance of ``predicted`` and ``seen``, weighted by pairs, percent.
    ``brier``, ``bits``: mean squared error of the chance; mean logarithmic loss. A tie counts half of each result. A
    constant chance of 1/2 has 0.25 and 1.
    ``sharpness``: mean chance of the favourite, percent.
    """

    pairs: Longs
    predicted: Floats
    seen: Floats
    error: float
    brier: float
    bits: float
    sharpness: float


def draw_pairs(rounds: Rounds, counts: Mask, seed: int, most: int = MOST_PAIRS) -> tuple[Any, Any, Any]:
    """Random pairs of rows of the same round, among rows that ``counts`` marks; a round is drawn in proportion to them.

    Returns int64[m], int64[m], int64[m]: rows, rows they are paired with, and their rounds.
    """
    rows = np.flatnonzero(counts)
    of_round = np.searchsorted(rounds.offsets, rows, side="right") - 1
    sizes = np.bincount(of_round, minlength=len(rounds))
    first = np.concatenate(([0], np.cumsum(sizes)))
    usable = np.flatnonzero(sizes[of_round] > 1)
    if not len(usable):
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing, nothing
    rng = np.random.default_rng(seed)
    chosen = np.resize(usable, most) if len(usable) < most else rng.choice(usable, most, replace=False)
    size = sizes[of_round[chosen]]
    within = chosen - first[of_round[chosen]]
    other = (within + 1 + rng.integers(0, size - 1)) % size
    return rows[chosen], rows[first[of_round[chosen]] + other], of_round[chosen]


def calibrate(
    system_name: str, params: Any, rounds: Rounds, outcome: Outcome, pairs: tuple[Any, Any, Any]
) -> Calibration:
    """Compare a system's chances with the results of pairs of rows."""
    (first, second, of_round), strength = pairs, rounds.strengths(outcome.mu_prior)

    def prior(rows: Longs) -> Prior:
        nothing = np.full(len(rows), np.nan)
        return Prior(strength[rows], outcome.sigma_prior[rows], nothing, outcome.n_before[rows])

    weight, participants = rounds.weight[of_round], rounds.participants[of_round]
    chance = SYSTEMS[system_name].beats(params, weight, participants, prior(first), prior(second))
    result = 0.5 + 0.5 * np.sign(rounds.lo[second].astype(np.int64) - rounds.lo[first])
    brier = float(np.mean(result * (1.0 - chance) ** 2 + (1.0 - result) * chance**2))
    safe = np.clip(chance, 1e-15, 1.0 - 1e-15)
    bits = float(-np.mean(result * np.log2(safe) + (1.0 - result) * np.log2(1.0 - safe)))
    favourite = np.maximum(chance, 1.0 - chance)
    won = np.where(chance >= 0.5, result, 1.0 - result)
    at = np.clip(np.searchsorted(BINS, favourite, side="right") - 1, 0, len(BINS) - 2)
    n = np.bincount(at, minlength=len(BINS) - 1)
    with np.errstate(invalid="ignore"):
        predicted = np.bincount(at, favourite, len(n)) / n
        seen = np.bincount(at, won, len(n)) / n
    error = 100.0 * float(np.nansum(n * np.abs(predicted - seen)) / n.sum())
    return Calibration(n, predicted, seen, error, brier, bits, 100.0 * float(favourite.mean()))


def _calibration(context: ExperimentContext, history: History) -> list[Part]:
    rounds = history.rounds
    tested = np.repeat(history.tested, np.diff(rounds.offsets))
    pairs: tuple[Any, Any, Any] | None = None
    calibrations: dict[str, Calibration] = {}
    systems = [Contender(name, name, {}) for name in SYSTEMS]
    of_paper = LIKE.get(history.name, history.name)
    for row in contenders(of_paper, 0) if of_paper in TUNED else ():
        if row.settings and row.label != "trueskill, as the engine":
            systems.append(row._replace(label=f"{row.label}, tuned"))
    for (label, name, *_), rated in context.rated(history, systems):
        outcome = rated.outcome
        if pairs is None:  # the same pairs for every system: experience does not depend on it
            pairs = draw_pairs(rounds, tested & (outcome.n_before >= EXPERIENCE), context.seed)
            if not len(pairs[0]):
                return [f"{history.name}: no contest after the first tenth has two players with {EXPERIENCE} rounds."]
        calibrations[label] = calibrate(name, rated.params, rounds, outcome, pairs)
    assert pairs is not None
    slug = slug_of(history.name)
    rows = [
        (label, one.error, one.brier, one.bits, one.sharpness, 100.0 * float(won / one.pairs.sum()))
        for label, one in calibrations.items()
        for won in [np.nansum(one.pairs * one.seen)]
    ]
    digits = {"error, %": 2, "Brier score": 4, "logarithmic loss, bits": 4}
    headings = ("system", *digits, "favourites' mean chance, %", "favourites before, %")
    bins: dict[str, list[Any]] = {"favourite's chance, %": [f"{100 * a:.0f}–{100 * b:.0f}" for a, b in pairwise(BINS)]}
    for label, calibration in calibrations.items():
        bins[label] = [None if np.isnan(seen) else 100.0 * float(seen) for seen in calibration.seen]
    caption = f"{history.name}: {len(pairs[0]):,} pairs"
    return [
        Picture.of(slug, f"{caption}: chances and results", _figure(calibrations)),
        Table.of_rows(slug, f"{caption}: calibration", headings, rows, digits),
        Table(f"{slug}-bins", f"{caption}: favourites that finished first, %, by chance", bins),
    ]


def _figure(calibrations: dict[str, Calibration]) -> Any:
    """Two panels: systems with their defaults, and the tuned or remaining ones."""
    figure, axes = new_figure(11.0, 5.0, columns=2, sharey=True)
    plain = [label for label in calibrations if "tuned" not in label]
    groups = (plain[: (len(plain) + 1) // 2], plain[(len(plain) + 1) // 2 :])
    for panel, labels in zip(axes, groups, strict=True):
        panel.plot([50, 100], [50, 100], color="#999999", linewidth=0.8, linestyle=":")
        for label, colour in zip(labels, SERIES, strict=False):
            calibration = calibrations[label]
            there = calibration.pairs >= 30
            chance, seen = (100 * values[there] for values in (calibration.predicted, calibration.seen))
            panel.plot(chance, seen, color=colour, label=label, marker="o", markersize=3, linewidth=1.2)
        panel.set_xlabel("chance of the favourite, %")
        panel.legend(loc="upper left", fontsize="small")
    axes[0].set_ylabel("favourites that finished first, %")
    return figure


EXPERIMENTS = (
    Experiment(
        "calibration",
        "Calibration of chances",
        "The win probability of each system; reliability as in Brier (1950)",
        of_each(_calibration),
        [
            "The win probability of each system is computed before each contest for random pairs of its players. Both "
            f"players have at least {EXPERIENCE} rounds, and the first tenth of the contests is left out. Among pairs "
            "with a chance of 70 % for the favourite, the favourite should win 70 % (a tie counts half). A curve above "
            "the diagonal shows chances that are too close to 50 %, a curve below it chances that are too extreme. The "
            "tuned hyperparameters were tuned for the order of places. Where the spread of performances does not "
            "affect the order, tuning says little about calibration."
        ],
        data="given",
        least=20,
    ),
)
