"""Accuracy of Elo-MMR by its transfer rate rho: 0 keeps the shape of performances, infinity none of it."""

from __future__ import annotations

import math
from typing import Any

from ...plotting.figures import SERIES, legible, new_figure
from ..base import Experiment, ExperimentContext, Picture, Report, Table
from ..data import rate_history, score_history

RHOS = (0.0, 0.04, 0.2, 1.0, 5.0, math.inf)


def _run(context: ExperimentContext) -> Report:
    rows: list[tuple[Any, ...]] = []
    figure, (left, right) = new_figure(10.0, 4.0, columns=2)
    labels = [f"{rho:g}" for rho in RHOS]
    for history, colour in zip(context.histories, SERIES, strict=False):
        inversions, deviations = [], []
        for rho in RHOS:
            context.on_step(f"{history.name}: rho = {rho:g}")
            rated = rate_history(history, "elo-mmr", rho=rho)
            (scores,) = score_history(history, rated.outcome.mu_prior, rated.outcome.n_before, ["experienced"]).values()
            inversions.append(scores.mean("pair_inversion", history.tested))
            deviations.append(scores.mean("rank_deviation", history.tested))
            rows.append((history.name, rho, inversions[-1], deviations[-1], rated.seconds))
        left.plot(labels, inversions, color=colour, label=legible(history.name), marker="o", linewidth=1.4)
        right.plot(labels, deviations, color=colour, marker="o", linewidth=1.4)
    left.set_title("pair inversion, % (higher is better)")
    right.set_title("rank deviation, % (lower is better)")
    for axes in (left, right):
        axes.set_xlabel("rho")
    left.legend(loc="best")
    headings = ("data set", "rho", "pair inversion, %", "rank deviation, %", "seconds")
    digits = {"rho": 2, "pair inversion, %": 3, "rank deviation, %": 3, "seconds": 2}
    return Report(
        [
            "All other hyperparameters have their defaults (weight_limit 0.2, sig_limit 80). The paper searched "
            "the same grid of rho (0, 0.04, 0.2, 1, 5, inf); its published configurations have 0 or 0.04 for large "
            "contests, and 5 or inf for small ones. Only experienced players are scored, and the first tenth of "
            "the contests is left out.",
            Picture.of("transfer", "Accuracy of Elo-MMR by rho", figure),
            Table.of_rows("transfer", "By transfer rate", headings, rows, digits),
        ]
    )


EXPERIMENT = Experiment(
    "transfer",
    "Elo-MMR's transfer rate",
    "Sections 4 and 6 of Ebtekar and Liu, arXiv:2101.00400; the grid of its search",
    _run,
    data="instead",
    least=20,
)
