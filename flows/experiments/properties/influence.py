"""The largest change of a rating by one performance, and what a history does to it: robustness in Elo-MMR's paper."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ranklake.rating_kernels import EloMMR
from ranklake.rating_kernels.core.numerics import C3

from ...common.configuration.settings import build_params, find_system
from ...execution.rater import BeliefColumns
from ...plotting.figures import SERIES, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table
from ..published import Contender
from ..walks import walk

LEVEL, ROUNDS = 1500.0, 60  # the performances before one of another size, and their number
FAR = 1e7  # rating points; stands for an infinite performance
SURPRISES = np.linspace(-1500.0, 1500.0, 121)
_BOUNDED = [
    Contender(f"Elo-MMR, rho = {rho:g}", "elo-mmr", {"rho": rho}) for rho in (0.0, 0.04, 0.2, 1.0, 5.0, math.inf)
]
_OTHERS = [
    Contender("Elo-MMχ", "elo-mmx", {}), Contender("Elo-R", "elo-r", {}),
    Contender("Elo-MMS", "elo-mms", {"practice": 0.0}),
]  # fmt: skip
_HISTORIES = {
    "consistent": [LEVEL] * 40,
    "consistent, 2600 at the end": [LEVEL] * 39 + [2600.0],
    "volatile": [1100.0, 1900.0] * 20,
}
_MOMENTUM = (0.04, 1.0, math.inf)  # rho: a smaller one remembers more of a history


def _influence(context: ExperimentContext) -> Iterator[Part]:
    curves: dict[str, Any] = {}
    rows: list[tuple[Any, ...]] = []
    for one in _BOUNDED:
        context.on_step(one.label)
        belief = walk(one, [LEVEL] * ROUNDS)[1]
        curves[one.label] = [_change(one, belief, surprise) for surprise in SURPRISES]
        rows.append((one.label, *_cap(one, belief)))
    for one in _OTHERS:
        belief = walk(one, [LEVEL] * ROUNDS)[1]
        curves[one.label] = [_change(one, belief, surprise) for surprise in SURPRISES]
    figure, axes = new_figure(8.0, 4.6)
    for i, (name, curve) in enumerate(curves.items()):
        style = "-" if name.startswith("Elo-MMR") else "--"
        axes.plot(SURPRISES, curve, style, color=SERIES[i], label=name, linewidth=1.4)
    axes.set_ylim(-200, 200)
    axes.set_xlabel("performance minus rating, rating points")
    axes.set_ylabel("change of the rating, rating points")
    axes.legend(loc="upper left", ncols=2, fontsize="small")
    yield Picture.of("influence", "Change of a rating by one performance", figure)
    headings = ("system", "lower bound", "change", "upper bound", "within")
    caption = "Change of the rating as the performance tends to infinity, rating points (Theorem 5.7)"
    yield Table.of_rows("bounds", caption, headings, rows, 2)
    histories = []
    for rho in _MOMENTUM:
        one = Contender("", "elo-mmr", {"rho": rho})
        for name, performances in _HISTORIES.items():
            belief = walk(one, performances)[1]
            histories.append((f"{rho:g}", name, *_cap(one, belief), -_change(one, belief, -FAR)))
    columns = ("rho", "history", *headings[1:], "fall as the performance tends to −infinity")
    caption = "The largest change after 40 rounds of three players, rating points (section 5.2)"
    yield Table.of_rows("histories", caption, columns, histories, 2)
    caps = {(rho, name): cap for rho, name, _, cap, *_ in histories}
    shown = ", ".join(f"{caps[f'{_MOMENTUM[0]:g}', name]:.1f} ({name})" for name in _HISTORIES)
    yield (
        f"Found: with rho {_MOMENTUM[0]:g} the largest rise is {shown} points: smallest for the consistent player, "
        f"larger after one extreme result, largest for the volatile one. With rho infinity it is "
        f"{caps['inf', 'volatile']:.1f} points for all."
    )


def _cap(one: Contender, belief: BeliefColumns) -> tuple[float, float, float, bool]:
    """The lower bound, the change by a performance beyond all others, the upper bound; whether it is within them."""
    lower, upper = _bounds(build_params(find_system(one.system), one.settings), belief)
    seen = _change(one, belief, FAR)
    return lower, seen, upper, lower - 1e-6 <= seen <= upper + 1e-6


def _change(one: Contender, belief: BeliefColumns, surprise: float) -> float:
    (before, after), _ = walk(one, [LEVEL + surprise], belief)
    return after - before


def _bounds(params: EloMMR, columns: BeliefColumns) -> tuple[float, float]:
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


EXPERIMENTS = (
    Experiment(
        "influence",
        "Largest change of a rating by one performance",
        "Section 5.2 and Theorem 5.7 of Ebtekar and Liu, arXiv:2101.00400",
        _influence,
        [
            f"A player has {ROUNDS} rounds at performance {LEVEL:.0f}, and then one round at another "
            "performance. With logistic performances the change of the rating is bounded; a smaller rho gives a "
            "tighter bound. With normal performances (Elo-MMχ) there is no bound; with skewed ones (Elo-MMS) there "
            "is one for losses in large rounds. A second table has three players with the same number of rounds: the "
            "bounds are the same, the change is not, unless rho is infinite and the history is forgotten."
        ],
    ),
)
