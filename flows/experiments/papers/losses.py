"""Figure 1 and equation 7 of the Elo-MMR paper: penalties of surprises, densities, and the weights of performances."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from ranklake.rating_kernels.core.numerics import C3
from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.core.standings import Floats

from ...execution.rater import BeliefColumns
from ...plotting.figures import SERIES, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table
from ..published import Contender
from ..walks import walk

BELIEFS, ROUNDS = 40, 30  # random beliefs, and the performances of each
_POINTS = (0.0, 0.5, 1.0, 2.0, 3.0, 6.0)


def normal_loss(x: Floats) -> Floats:
    """Minus the logarithm of the normal density of variance 1, less its minimum."""
    return np.asarray(0.5 * x * x)


def logistic_loss(x: Floats) -> Floats:
    """Minus the logarithm of the logistic density of variance 1, less its minimum: 2 ln cosh(C3 x / 2)."""
    half = 0.5 * C3 * x
    return np.asarray(2.0 * (np.logaddexp(half, -half) - math.log(2.0)))


def logistic_pull(x: Floats) -> Floats:
    """The slope of :func:`logistic_loss`."""
    return np.asarray(C3 * np.tanh(0.5 * C3 * x))


def robust_weight(x: Floats) -> Floats:
    """The weight of a performance ``x`` deviations from the rating, in units of a normal one's: equation 7."""
    apart = np.abs(x) > 1e-9
    return np.where(apart, logistic_pull(x) / np.where(apart, x, 1.0), 0.5 * C3 * C3)


def densities(x: Floats) -> tuple[Floats, Floats]:
    """The normal and the logistic density of variance 1."""
    return np.exp(-normal_loss(x)) / math.sqrt(2.0 * math.pi), 0.25 * C3 * np.exp(-logistic_loss(x))


def weighted_mean(belief: BeliefColumns, mu: float) -> float:
    """The mean of a player's performances, weighted as equation 7 has it; the normal factor counts as one of them."""
    lists = (cast(Ragged, belief[f"history_{name}"]).values for name in ("perf", "force", "inverse_width"))
    perf, force, inverse_width = lists
    (normal_mu,), (normal_weight,), (shrink,) = (
        np.asarray(belief[name]) for name in ("normal_mu", "normal_weight", "shrink")
    )
    beta = 0.5 * C3 / inverse_width
    share = shrink * force * beta / C3  # the fractional multiplicity of each factor
    weights = np.append(share / beta**2 * robust_weight((mu - perf) / beta), normal_weight)
    return float(weights @ np.append(perf, normal_mu) / weights.sum())


def _losses(context: ExperimentContext) -> Iterator[Part]:
    x = np.array(_POINTS)
    normal, logistic = densities(x)
    columns: dict[str, Any] = {
        "x": _POINTS, "L2": normal_loss(x), "LR": logistic_loss(x), "slope of LR": logistic_pull(x),
        "normal density": normal, "logistic density": logistic, "weight of equation 7": robust_weight(x),
    }  # fmt: skip
    yield Picture.of("losses", "Penalty, density and weight, by the distance in standard deviations", _figure())
    yield Table("losses", "Values of the curves", {name: list(map(float, v)) for name, v in columns.items()}, 4)
    rng = np.random.default_rng(context.seed)
    worst = 0.0
    for _ in range(BELIEFS):
        ratings, belief = walk(Contender("", "elo-mmr", {"rho": 0.04}), rng.normal(1500.0, 400.0, ROUNDS).tolist())
        worst = max(worst, abs(weighted_mean(belief, ratings[-1]) - ratings[-1]))
    yield (
        f"Found: far from the rating the penalty LR grows by {C3:.4f} a deviation, while that of L2 grows without "
        f"limit; a performance at the rating weighs {math.pi**2 / 6:.4f} times a normal one, and one three deviations "
        f"away {float(robust_weight(np.array(3.0))):.3f} times. In {BELIEFS} random beliefs of Elo-MMR the "
        f"weighted mean of equation 7 is the rating to {worst:.0e} points."
    )


def _figure() -> Any:
    figure, (losses, laws, weights) = new_figure(11.0, 3.8, columns=3)
    x = np.linspace(-4.0, 4.0, 161)
    pairs = ((losses, (normal_loss(x), logistic_loss(x)), ("L2", "LR")), (laws, densities(x), ("normal", "logistic")))
    for axes, curves, labels in pairs:
        for curve, label, colour in zip(curves, labels, SERIES, strict=False):
            axes.plot(x, curve, color=colour, label=label, linewidth=1.4)
        axes.legend(loc="best")
    weights.plot(np.linspace(0.0, 10.0, 161), robust_weight(np.linspace(0.0, 10.0, 161)), color=SERIES[1])
    weights.set_ylim(0.0, 1.75)
    titles = ("penalty of a surprise", "density of variance 1", "weight, in that of a normal factor")
    for axes, title, label in zip((losses, laws, weights), titles, ("x", "x", "|mu − p| / beta"), strict=True):
        axes.set_title(title)
        axes.set_xlabel(label)
    return figure


EXPERIMENTS = (
    Experiment(
        "losses",
        "Penalties, densities and weights of performances",
        "Figure 1 and equation 7 of Ebtekar and Liu, arXiv:2101.00400",
        _losses,
        [
            "A rating minimises a sum of penalties, one for each performance. Normal performances are penalised by L2, "
            "half the square of the distance in standard deviations, and logistic ones by LR, which is linear far "
            "from the rating. Therefore the rating is a mean of the performances in which a distant one weighs less."
        ],
    ),
)
