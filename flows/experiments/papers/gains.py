"""Gains of ratings: EloSRM's tables, with rank errors by experience, and the inflation of each system."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranklake.rating_kernels import SYSTEMS
from ranklake.rating_kernels.metrics.metrics import keep, score
from ranklake.rating_kernels.metrics.rank_errors import rank_errors, total
from ranklake.rating_kernels.systems.elo_srm import PRESETS

from ...common.text import slug as slug_of
from ...evaluation.evaluate import division_of
from ...plotting.figures import SERIES, legible, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table, of_each
from ..data import History
from ..published import Contender

_PRINTED = {  # Table 5: error, mean gain, its sd, largest gain; rating of a newcomer, median and highest at the end
    "SRM": (0.8301, -20.8, 130.0, 900.0, 1200.0, 1043.0, 3923.0),
    "initial": (0.7908, 22.2, 142.0, 1202.0, 1200.0, 1301.0, 4663.0),
    "K": (0.7784, 14.7, 75.0, 642.0, 1200.0, 1258.0, 3955.0),
    "W": (0.7562, 18.5, 102.0, 1762.0, 1200.0, 1327.0, 3734.0),
    "C": (0.7536, 19.6, 103.0, 2417.0, 1200.0, 1341.0, 3684.0),
    "Elo": (0.7513, 19.5, 102.0, 1548.0, 1200.0, 1369.0, 3709.0),
    "B": (0.7511, 21.5, 104.0, 1581.0, 1200.0, 1384.0, 3801.0),
    "Elo2": (0.7497, 25.7, 105.0, 1591.0, 1970.0, 2095.0, 4468.0),
}
_COUNTS = {  # Table 1: ratings
    "all": 790_127, "first": 77_818, "2-7": 202_858, "8-24": 217_893, "25-74": 195_019, "75-199": 84_825,
    "200+": 11_714, "existing": 712_309, "existing, division 1": 388_024, "existing, division 2": 324_285,
}  # fmt: skip
_SHOWN = ("elo-mmr", "elo-mmx", "elo-mms", "elo-r", "codeforces", "cf-general", "topcoder", "elo-srm", "elo", "bar")
_PIECES = 40


def _srm(context: ExperimentContext, history: History) -> list[Part]:
    rounds = history.rounds
    division = np.array([division_of(title) for title in history.titles], dtype=np.int64)
    events = int(rounds.event[-1]) + 1
    everyone = keep(rounds.offsets, rounds.lo, np.ones(rounds.n_rows, dtype=bool))
    topcoder = {"vol_after_cap": True, "two_phase": True, "published_constants": True}
    systems = [Contender("SRM", "topcoder", topcoder)]
    systems += [Contender(name, "elo-srm", {"preset": name}) for name in PRESETS]
    rows: list[tuple[Any, ...]] = []
    breakdown: dict[str, list[Any]] = {}
    for (label, *_), rated in context.rated(history, systems):
        outcome = rated.outcome
        gain = outcome.mu - outcome.mu_prior
        performance = score(everyone, outcome.mu_prior[everyone.rows]).log2_performance
        table = total(
            rank_errors(everyone, outcome.n_before[everyone.rows], division, performance, gain[everyone.rows])
        )
        final = rated.beliefs.mu[rated.beliefs.n_rounds > 0]
        newcomer = 1200.0 + PRESETS.get(label, {}).get("n_inflation", 0.0) / 100.0 * events
        ours = (table[0].error, float(gain.mean()), float(gain.std()), float(gain.max()), newcomer,
                float(np.median(final)), float(final.max()))  # fmt: skip
        rows.append((label, *(value for pair in zip(ours, _PRINTED[label], strict=True) for value in pair)))
        if label in ("SRM", "Elo", "Elo2"):
            breakdown.setdefault("group", [row.name for row in table])
            breakdown.setdefault("ratings", [row.participations for row in table])
            breakdown.setdefault("printed", [_COUNTS.get(row.name) for row in table])
            breakdown[f"{label}: mean gain"] = [row.gain for row in table]
            breakdown[f"{label}: mean P"] = [row.performance for row in table]
            breakdown[f"{label}: error"] = [row.error for row in table]
    names = ("error", "mean gain", "sd of gains", "largest gain", "newcomer at the end", "median at the end", "highest")
    headings = ["row", *(heading for name in names for heading in (name, f"printed, {name}"))]
    slug = slug_of(history.name)
    caption = f"{history.name}: {events:,} events, {rounds.n_rows:,} ratings"
    digits = {heading: 4 for heading in headings if heading.endswith("error")}
    digits |= {heading: 4 for heading in breakdown if heading.endswith(("error", "mean P"))}
    figure, axes = new_figure(8.0, 3.8)
    labels = [one.label for one in systems]
    axes.plot(labels, [row[1] for row in rows], "o-", color=SERIES[0], label=f"here, {legible(history.name)}")
    axes.plot(labels, [row[2] for row in rows], "x--", color=SERIES[1], label="printed, TopCoder")
    axes.set_ylabel("mean |log2 of expected over actual place|")
    axes.legend(loc="best")
    return [
        Picture.of(slug, f"{caption}: each refinement's error", figure),
        Table.of_rows(slug, f"{caption}: the rows of Table 5", headings, rows, digits),
        Table(
            f"{slug}-experience",
            f"{caption}: the rows of Tables 1 and 3, by rounds played, including the current round",
            breakdown,
            digits,
        ),
    ]


def _inflation(context: ExperimentContext, history: History) -> list[Part]:
    rounds = history.rounds
    edges = np.unique(np.linspace(0, len(rounds), min(_PIECES, len(rounds)) + 1).astype(int))
    starts, counts = rounds.offsets[edges[:-1]], np.diff(rounds.offsets[edges])
    rows: list[tuple[Any, ...]] = []
    levels: dict[str, Any] = {}
    for (name, *_), rated in context.rated(history, [Contender(name, name, {}) for name in SYSTEMS]):
        outcome = rated.outcome
        gain = outcome.mu - outcome.mu_prior
        levels[name] = np.add.reduceat(outcome.mu_prior, starts) / counts
        first, last = levels[name][0], levels[name][-1]
        seen = gain[outcome.n_before > 0]
        existing = float(seen.mean()) if len(seen) else None
        rows.append((name, float(gain.mean()), existing, float(gain.std()), float(np.abs(gain).max()), first, last))
    headings = ("system", "mean gain", "of players rated before", "its sd", "largest change", "level at the beginning",
                "level at the end")  # fmt: skip
    figure, axes = new_figure(8.5, 4.4)
    for name, colour in zip(_SHOWN, SERIES, strict=False):
        axes.plot(history.index[edges[1:] - 1] + 1, levels[name], color=colour, label=name, linewidth=1.3)
    axes.set_xlabel("contests")
    axes.set_ylabel("mean rating of participants, points")
    axes.legend(loc="best", ncols=3, fontsize="small")
    slug, caption = slug_of(history.name), f"{history.name}: {len(rounds):,} contests"
    return [
        Picture.of(slug, f"{caption}: mean rating of the participants before a contest", figure),
        Table.of_rows(slug, f"{caption}: gains, rating points", headings, rows, 2),
    ]


EXPERIMENTS = (
    Experiment(
        "srm",
        "EloSRM's tables",
        "Tables 1, 3 and 5 of “An Elo-based rating system for TopCoder SRM”",
        of_each(_srm),
        [
            "P is the binary logarithm of the expected place divided by the actual place, by the ratings before the "
            "round. All participants count, newcomers included. The error is the mean of |P|. The printed values are "
            "for the 1,222 TopCoder single round matches since 2001. For another history, compare the order of the "
            "rows, not their values. SRM is TopCoder's own system, as published."
        ],
        data="given",
        least=20,
    ),
    Experiment(
        "inflation",
        "Rating inflation",
        "“An Elo-based rating system for TopCoder SRM”, Table 5 (mean gains); the inflation step of Codeforces' rule",
        of_each(_inflation),
        [
            "The mean rating of the participants before a contest, and their mean gain by it. The mean grows where the "
            "gains of a rule exceed its losses, or where players that gain stay longer. TrueSkill's points are on "
            "another scale. For all of TopCoder, the EloSRM document prints a mean gain of 25.7 points a round with "
            "its last row of hyperparameters, 22.2 with its first, and −20.8 for TopCoder's own ratings."
        ],
        data="instead",
    ),
)
