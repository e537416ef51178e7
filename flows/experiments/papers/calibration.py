"""Calibration of the win probabilities of each system, on real histories."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ranklake.rating_kernels.metrics.calibration import BINS, CHANCE_METRICS, ReliabilityBin
from ranklake.rating_kernels.metrics.metrics import FILTERS
from ranklake.rating_kernels.registry import of_contests

from ...common.text import slug as slug_of
from ...plotting.figures import SERIES, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table, of_each
from ..data import History
from ..findings import extreme
from ..published import LIKE, TUNED, Contender, contenders

GROUP = FILTERS["experienced"]
_SHOWN = 30  # pairs of a point of a figure, at least


def _calibration(context: ExperimentContext, history: History) -> list[Part]:
    tables: dict[str, list[ReliabilityBin]] = {}
    rows = []
    systems = [Contender(name, name, {}) for name in of_contests()]
    of_paper = LIKE.get(history.name, history.name)
    for row in contenders(of_paper, 0) if of_paper in TUNED else ():
        if row.settings and row.label != "trueskill, as the engine":
            systems.append(row._replace(label=f"{row.label}, tuned"))
    for (label, *_), rated in context.rated(history, systems):
        pairs = rated.entrants().pair_sums(GROUP)
        if not pairs.weight[history.tested].any():
            return [f"{history.name}: no contest after the first tenth has two players with {GROUP.least} rounds."]
        tables[label] = pairs.table(history.tested)
        bits, brier, error = (pairs.means(history.tested)[metric] for metric in CHANCE_METRICS)
        weight, chance, seen = pairs.bins[history.tested].sum(axis=(0, 1))[1:]
        rows.append((label, error, brier, bits, 100.0 * chance / weight, 100.0 * seen / weight))
    slug = slug_of(history.name)
    digits = {"error, %": 2, "Brier score": 4, "logarithmic loss, bits": 4}
    headings = ("system", *digits, "favourites' mean chance, %", "favourites before, %")
    bins: dict[str, list[Any]] = {"favourite's chance, %": [f"{100 * a:.0f}–{100 * b:.0f}" for a, b in pairwise(BINS)]}
    for label, table in tables.items():
        bins[label] = [100.0 * row.seen if row.pairs else None for row in table]
    caption = f"{history.name}: {sum(row.pairs for row in table):,} pairs"
    errors, extremes = {row[0]: row[1] for row in rows}, sum(row[4] > row[5] for row in rows)
    return [
        Picture.of(slug, f"{caption}: chances and results", _figure(tables)),
        Table.of_rows(slug, f"{caption}: calibration", headings, rows, digits),
        Table(f"{slug}-bins", f"{caption}: favourites that finished first, %, by chance", bins),
        f"Found: in {history.name} the chances of {extreme(errors, min, unit=' % error')} are the closest to the "
        f"results, those of {extreme(errors, unit=' % error')} the furthest. Favourites finish first less often than "
        f"their mean chance by {extremes} of {len(rows)} sets of hyperparameters, and more often by the others.",
    ]


def _figure(tables: dict[str, list[ReliabilityBin]]) -> Any:
    """Two panels: systems with their defaults, and the tuned or remaining ones."""
    figure, axes = new_figure(11.0, 5.0, columns=2, sharey=True)
    plain = [label for label in tables if "tuned" not in label]
    groups = (plain[: (len(plain) + 1) // 2], plain[(len(plain) + 1) // 2 :])
    for panel, labels in zip(axes, groups, strict=True):
        panel.plot([50, 100], [50, 100], color="#999999", linewidth=0.8, linestyle=":")
        for label, colour in zip(labels, SERIES, strict=False):
            shown = [row for row in tables[label] if row.pairs >= _SHOWN]
            chance, seen = (100 * np.array([getattr(row, name) for row in shown]) for name in ("chance", "seen"))
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
            "The win probability of each system is computed before each contest for all pairs of its players, which "
            f"have the weight of participations. Both players have at least {GROUP.least} rounds, and the first tenth "
            "of the contests is left out. Among pairs with a chance of 70 % for the favourite, the favourite should "
            "win 70 % (a tie counts half). A curve above "
            "the diagonal shows chances that are too close to 50 %, a curve below it chances that are too extreme. The "
            "tuned hyperparameters were tuned for the order of places. Where the spread of performances does not "
            "affect the order, tuning says little about calibration."
        ],
        data="given",
        least=20,
    ),
)
