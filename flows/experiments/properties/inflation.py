"""Rating inflation: the mean rating over a history."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranklake.rating_kernels import SYSTEMS

from ...common.text import slug as slug_of
from ...plotting.figures import SERIES, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table, of_each
from ..data import History, rate_history

_SHOWN = ("elo-mmr", "elo-mmx", "elo-mms", "elo-r", "codeforces", "cf-general", "topcoder", "elo-srm", "elo", "bar")
_PIECES = 40


_TEXT = (
    "The mean rating of the participants before a contest, and their mean gain by it. The mean grows where the "
    "gains of a rule exceed its losses, or where players that gain stay longer. TrueSkill's points are on "
    "another scale. For all of TopCoder, the EloSRM document prints a mean gain of 25.7 points a round with its "
    "last row of hyperparameters, 22.2 with its first, and −20.8 for TopCoder's own ratings."
)


def _of_history(context: ExperimentContext, history: History) -> list[Part]:
    rounds = history.rounds
    edges = np.unique(np.linspace(0, len(rounds), min(_PIECES, len(rounds)) + 1).astype(int))
    rows: list[tuple[Any, ...]] = []
    levels: dict[str, Any] = {}
    for name in SYSTEMS:
        context.on_step(f"{history.name}: {name}")
        outcome = rate_history(history, name).outcome
        gain = outcome.mu - outcome.mu_prior
        known = outcome.n_before > 0
        starts = rounds.offsets[edges[:-1]]
        counts = np.diff(rounds.offsets[edges])
        levels[name] = np.add.reduceat(outcome.mu_prior, starts) / counts
        first, last = levels[name][0], levels[name][-1]
        seen = gain[known]
        existing = float(seen.mean()) if len(seen) else None
        rows.append((name, float(gain.mean()), existing, float(gain.std()), float(np.abs(gain).max()), first, last))
    headings = ("system", "mean gain", "of players rated before", "its sd", "largest change", "level at the beginning",
                "level at the end")  # fmt: skip
    slug = slug_of(history.name)
    figure, axes = new_figure(8.5, 4.4)
    for name, colour in zip(_SHOWN, SERIES, strict=False):
        axes.plot(history.index[edges[1:] - 1] + 1, levels[name], color=colour, label=name, linewidth=1.3)
    axes.set_xlabel("contests")
    axes.set_ylabel("mean rating of participants, points")
    axes.legend(loc="best", ncols=3, fontsize="small")
    caption = f"{history.name}: {len(rounds):,} contests"
    return [
        Picture.of(slug, f"{caption}: mean rating of the participants before a contest", figure),
        Table.of_rows(slug, f"{caption}: gains, rating points", headings, rows, 2),
    ]


EXPERIMENT = Experiment(
    "inflation",
    "Rating inflation",
    "“An Elo-based rating system for TopCoder SRM”, Table 5 (mean gains); the inflation step of Codeforces' rule",
    of_each(_TEXT, _of_history),
    data="instead",
)
