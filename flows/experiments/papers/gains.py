"""The inflation of each system: mean gains, and the level of ratings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranklake.rating_kernels.registry import of_contests

from ...common.text import slug as slug_of
from ...plotting.figures import SERIES, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table, of_each
from ..data import History
from ..findings import span
from ..published import GROWTH_CLAIM, Contender

_SHOWN = ("elo-mmr", "elo-mmx", "elo-mms", "elo-r", "codeforces", "cf-general", "topcoder", "elo-srm", "elo", "bar")
_PIECES = 40


def _inflation(context: ExperimentContext, history: History) -> list[Part]:
    rounds = history.rounds
    edges = np.unique(np.linspace(0, len(rounds), min(_PIECES, len(rounds)) + 1).astype(int))
    starts, counts = rounds.offsets[edges[:-1]], np.diff(rounds.offsets[edges])
    rows: list[tuple[Any, ...]] = []
    levels: dict[str, Any] = {}
    for (name, *_), rated in context.rated(history, [Contender(name, name, {}) for name in of_contests()]):
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
        f"Found: in {history.name}, of the systems drawn, the mean gain of a contest is "
        f"{span({row[0]: row[1] for row in rows if row[0] in _SHOWN}, 1, ' points')}, and the level changes "
        f"{span({row[0]: row[6] - row[5] for row in rows if row[0] in _SHOWN}, 0, ' points')}.",
    ]


EXPERIMENTS = (
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
        [GROWTH_CLAIM],
        data="instead",
    ),
)
