"""Table 3 of the Elo-MMR paper: time to rate a history."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ranklake.rating_kernels.metrics.metrics import FILTERS

from ...common.text import slug as slug_of
from ...plotting.figures import SERIES, log_scale, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Report, Table
from ..data import rate_history, score_history, warm
from ..published import LIKE, NAMES, SECONDS, contenders


def _run(context: ExperimentContext) -> Report:
    parts: list[Part] = [
        "Seconds to rate all contests and to score each of them before it is rated, as in the paper; on this "
        "machine, with compiled kernels. The paper's times are for 24 cores of 2.0 GHz and for approximations with "
        "at most 500 opponents and 500 past performances; the sums here are exact. Machines and data differ, so the "
        "ratio shows an order of magnitude only."
    ]
    for history in context.histories:
        of_paper = LIKE.get(history.name, history.name)
        rows: list[tuple[Any, ...]] = []
        for one in contenders(of_paper, 0):
            context.on_step(f"{history.name}: {one.label}")
            warm(history, one.system, **one.settings)
            rated = rate_history(history, one.system, **one.settings)
            began = time.perf_counter()
            score_history(history, rated.outcome.mu_prior, rated.outcome.n_before, list(FILTERS))
            scoring = time.perf_counter() - began
            seconds = rated.seconds + scoring
            printed = SECONDS.get(of_paper, {}).get(one.system) if one.printed else None
            ratio, in_paper = None if printed is None else printed / seconds, NAMES[one.system] if one.printed else None
            rate = history.rounds.n_rows / seconds / 1e6
            rows.append((one.label, in_paper, rated.seconds, scoring, seconds, printed, ratio, rate))
        slug = slug_of(history.name)
        headings = ("system", "in the paper", "rating, s", "scoring, s", "together, s", "printed, s",
                    "printed / here", "million participations / s")  # fmt: skip
        caption = f"{history.name}: {len(history.rounds):,} contests, {history.rounds.n_rows:,} participations"
        digits = dict.fromkeys(headings[2:5], 3) | {"printed, s": 2, "million participations / s": 2}
        parts.append(Table.of_rows(slug, caption, headings, rows, digits))
        parts.append(Picture.of(slug, caption, _figure(rows)))
    return Report(parts)


def _figure(rows: list[tuple[Any, ...]]) -> Any:
    figure, axes = new_figure(8.0, 0.26 * len(rows) + 1.0)
    y = np.arange(len(rows))[::-1]
    axes.plot([row[2] for row in rows], y, "o", color=SERIES[0], label="rating", markersize=5)
    axes.plot([row[4] for row in rows], y, "o", color=SERIES[0], fillstyle="none", label="and scoring", markersize=6)
    printed = np.array([np.nan if row[5] is None else row[5] for row in rows])
    axes.plot(printed, y, "x", color=SERIES[1], label="printed", markersize=6, markeredgewidth=1.6)
    axes.set_yticks(y, [row[0] for row in rows])
    log_scale(axes, "x")
    axes.set_xlabel("seconds")
    axes.legend(loc="best")
    return figure


EXPERIMENT = Experiment(
    "speed",
    "Time to rate a history",
    "Table 3 of Ebtekar and Liu, “An Elo-like System for Massive Multiplayer Competitions” (arXiv:2101.00400)",
    _run,
    data="beside",
)
