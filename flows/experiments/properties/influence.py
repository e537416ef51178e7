"""The largest change of a rating by one performance: the bounds that Elo-MMR's paper proves, and other systems."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ranklake.rating_kernels import EloMMR
from ranklake.rating_kernels.core.beliefs import Column
from ranklake.rating_kernels.core.ragged import Ragged

from ...common.configuration.settings import build_params, find_system
from ...plotting.figures import SERIES, new_figure
from ..base import Experiment, ExperimentContext, Picture, Report, Table
from .robustness import show

CONSISTENT, ROUNDS = 1500.0, 60
FAR = 1e7  # rating points; stands for an infinite performance
SURPRISES = np.linspace(-1500.0, 1500.0, 121)
C3 = math.pi / math.sqrt(3.0)

Columns = dict[str, Column | Ragged]

_RHOS = (0.0, 0.04, 0.2, 1.0, 5.0, math.inf)


def _run(context: ExperimentContext) -> Report:
    curves: dict[str, Any] = {}
    rows: list[tuple[Any, ...]] = []
    for rho in _RHOS:
        name = f"Elo-MMR, rho = {rho:g}"
        context.on_step(name)
        params, columns = _experienced("elo-mmr", {"rho": rho})
        curves[name] = [_change("elo-mmr", params, columns, surprise) for surprise in SURPRISES]
        lower, upper = _bounds(params, columns)
        seen = _change("elo-mmr", params, columns, FAR)
        rows.append((name, lower, seen, upper, lower - 1e-6 <= seen <= upper + 1e-6))
    others: dict[str, tuple[str, dict[str, Any]]] = {
        "Elo-MMχ": ("elo-mmx", {}),
        "Elo-R": ("elo-r", {}),
        "Elo-MMS": ("elo-mms", {"practice": 0.0}),
    }
    for name, (system, settings) in others.items():
        experienced = _experienced(system, settings)
        curves[name] = [_change(system, *experienced, surprise) for surprise in SURPRISES]
    headings = ("system", "lower bound", "change", "upper bound", "within")
    caption = "Change of the rating as the performance tends to infinity, rating points (Theorem 5.7)"
    figure, axes = new_figure(8.0, 4.6)
    for i, (name, curve) in enumerate(curves.items()):
        style = "-" if name.startswith("Elo-MMR") else "--"
        axes.plot(SURPRISES, curve, style, color=SERIES[i], label=name, linewidth=1.4)
    axes.set_ylim(-200, 200)
    axes.set_xlabel("performance minus rating, rating points")
    axes.set_ylabel("change of the rating, rating points")
    axes.legend(loc="upper left", ncols=2, fontsize="small")
    return Report(
        [
            f"A player has {ROUNDS} rounds at performance {CONSISTENT:.0f}, and then one round at another "
            "performance. With logistic performances the change of the rating is bounded; a smaller rho gives a "
            "tighter bound. With normal performances (Elo-MMχ) there is no bound; with skewed ones (Elo-MMS) there "
            "is one for losses in large rounds.",
            Picture.of("influence", "Change of a rating by one performance", figure),
            Table.of_rows("bounds", caption, headings, rows, 2),
        ]
    )


def _experienced(system: str, settings: dict[str, Any]) -> tuple[Any, Columns]:
    """Parameters, and the belief about a player after many equal performances."""
    params = build_params(find_system(system), settings)
    beliefs = find_system(system).newcomers(params, 1)
    for _ in range(ROUNDS):
        show(system, params, beliefs, 0, CONSISTENT)
    return params, beliefs.columns()


def _change(system: str, params: Any, columns: Columns, surprise: float) -> float:
    beliefs = find_system(system).newcomers(params, 1)
    beliefs.restore(columns)
    before = float(beliefs.mu[0])
    show(system, params, beliefs, 0, CONSISTENT + surprise)
    return float(beliefs.mu[0]) - before


def _bounds(params: EloMMR, columns: Columns) -> tuple[float, float]:
    """(C3 / beta) / (w_0 + (pi^2 / 6) sum omega_k / beta_k^2) and (C3 / beta) / w_0, after diffusion (Theorem 5.7)."""
    sigma2, normal = (float(np.asarray(columns[name])[0]) for name in ("sigma", "normal_weight"))
    sigma2 = sigma2**2
    u, s2 = params.weight_limit, params.sig_limit**2
    beta, gamma2 = math.sqrt((1.0 + 1.0 / u) * s2), u * s2
    kappa = 1.0 / (1.0 + gamma2 / sigma2)
    kept = 0.0 if params.rho == math.inf else kappa**params.rho
    after = kappa * (kept * normal + (1.0 - kept) / sigma2)
    logistic = max(kappa / sigma2 - after, 0.0)
    push = C3 / beta
    return push / (after + math.pi**2 / 6.0 * logistic), push / after


EXPERIMENT = Experiment(
    "influence",
    "Largest change of a rating by one performance",
    "Theorem 5.7 of Ebtekar and Liu, arXiv:2101.00400",
    _run,
)
