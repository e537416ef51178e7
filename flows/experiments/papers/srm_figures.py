"""Figures 1 to 8 of the EloSRM document: performances by place, and how each constant was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from ranklake.rating_kernels.core.standings import Floats

from ...common.cpus import available_cpus
from ...common.text import slug as slug_of
from ...plotting.figures import SERIES, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table, of_each
from ..data import History
from .constants import Constants, Trials, lowest

_INF = float("inf")


class Constant(NamedTuple):
    """One figure: a constant, its grid, the constants before it, those that are fitted for each of its values.

    ``printed``: best value, K there, error there; None if the document does not print it.
    """

    figure: int
    name: str
    field: Literal["k", "alpha", "c", "m", "b", "n"]
    grid: Sequence[float]
    before: Constants
    fitted: tuple[Literal["k", "b"], ...]
    printed: tuple[float, float | None, float]


_W = Constants(182.0, 0.5)
_C = _W._replace(k=415.0, c=4.0)
_M = _C._replace(k=600.0, m=6.75)
_CONSTANTS = (
    Constant(3, "K", "k", (20, 35, 50, 65, 80, 100, 120, 150, 200, 250), Constants(65.0), (), (65.0, 65.0, 0.7784)),
    Constant(4, "alpha", "alpha", (0, 0.25, 0.4, 0.5, 0.6, 0.75, 1), Constants(182.0), ("k",), (0.5, 182.0, 0.7562)),
    Constant(5, "C", "c", (0, 1, 2, 3, 4, 5, 6, 8, 10), _W, ("k",), (4.0, 415.0, 0.7536)),
    Constant(6, "M", "m", (2, 3, 4, 5, 6.75, 9, 13, 20, _INF), _C, ("k",), (6.75, 600.0, 0.7513)),
    Constant(7, "B", "b", (-10, -5, 0, 6, 12, 20, 30, 40), _M, ("k",), (6.0, None, 0.7511)),
    Constant(8, "N", "n", (0, 20, 40, 63, 80, 100, 120), _M._replace(b=27.0), ("k", "b"), (63.0, None, 0.7497)),
)
_INITIAL = (120.0, 0.7908)  # K of the initial row, rounded; its printed error


def rank_performance(n: Floats | float, r: Floats | float) -> Any:
    """The wins of a player at place ``r`` of ``n`` in an elimination tournament (equation 4)."""
    return np.log2(n) - np.log2(r)


def relative_performance(expected: Floats | float, actual: Floats | float) -> Any:
    """The wins above expectation (equation 8)."""
    return rank_performance(expected, actual)


def curve(trials: Trials, constant: Constant, pool: ThreadPoolExecutor) -> list[tuple[Constants, float]]:
    """The fitted constants and their error at each value of the grid."""

    def at(value: float) -> tuple[Constants, float]:
        one = constant.before._replace(**{constant.field: float(value)})
        return trials.best(one, *constant.fitted) if constant.fitted else (one, trials.error(one))

    return list(pool.map(at, constant.grid))


def _figures(context: ExperimentContext, history: History) -> Iterator[Part]:
    trials = Trials(history)
    slug, used = slug_of(history.name), len(trials.rounds)
    caption = f"{history.name}, first {used:,} contests" if used < len(history.rounds) else history.name
    curves = {}
    with ThreadPoolExecutor(available_cpus()) as pool:
        context.on_step(f"{history.name}: initial")
        initial = trials.error(Constants(_INITIAL[0]))
        for constant in _CONSTANTS:
            context.on_step(f"{history.name}: {constant.name}")
            curves[constant.name] = curve(trials, constant, pool)
    errors = {name: [error for _, error in found] for name, found in curves.items()}
    minima = {one.name: lowest(one.grid, errors[one.name]) for one in _CONSTANTS}
    for constants, name in ((_CONSTANTS[:3], "first"), (_CONSTANTS[3:], "last")):
        title = f"{caption}: the error by {', '.join(one.name for one in constants)}"
        yield Picture.of(f"{slug}-{name}", title, _figure(constants, errors, minima))
    rows: list[tuple[Any, ...]] = [("", "initial", None, None, _INITIAL[0], _INITIAL[0], initial, _INITIAL[1])]
    for one in _CONSTANTS:
        best, error = minima[one.name]
        fitted = curves[one.name][int(np.argmin(errors[one.name]))][0]
        k = best if one.name == "K" else fitted.k
        rows.append((f"Figure {one.figure}", one.name, best, one.printed[0], k, one.printed[1], error, one.printed[2]))
    headings = ("figure", "constant", "best", "best, printed", "K", "K, printed", "error", "error, printed")
    digits = dict.fromkeys(headings, 1) | {"best": 2, "best, printed": 2, "error": 4, "error, printed": 4}
    yield Table.of_rows(f"{slug}-minima", f"{caption}: the best value of each constant", headings, rows, digits)
    points = [
        (f"Figure {one.figure}", one.name, float(value), fitted.k, fitted.b, error)
        for one in _CONSTANTS
        for value, (fitted, error) in zip(one.grid, curves[one.name], strict=True)
    ]
    columns = ("figure", "constant", "value", "K", "B", "error")
    yield Table.of_rows(
        f"{slug}-curves", f"{caption}: the points of the curves", columns, points, {"value": 2, "error": 5}
    )
    reached = [initial, *(minima[one.name][1] for one in _CONSTANTS)]
    falls = [one.name for one, (before, after) in zip(_CONSTANTS, pairwise(reached), strict=True) if after < before]
    shown = ", ".join(f"{one.name} {minima[one.name][0]:.3g} ({one.printed[0]:g})" for one in _CONSTANTS)
    yield (
        f"Found: in {caption} the best constants are {shown}, printed ones in brackets. The error falls from "
        f"{initial:.4f} to {minima['N'][1]:.4f}; of the steps, {', '.join(falls) or 'none'} reduce it."
    )


def _figure(
    constants: Sequence[Constant], errors: dict[str, list[float]], minima: dict[str, tuple[float, float]]
) -> Any:
    figure, axes = new_figure(11.0, 3.7, columns=len(constants))
    for panel, one in zip(axes, constants, strict=True):
        finite = np.isfinite(one.grid)
        x, y = np.array(one.grid, dtype=float)[finite], np.array(errors[one.name])[finite]
        panel.plot(x, y, "o-", color=SERIES[0], markersize=3, linewidth=1.3, label="here")
        if np.isfinite(minima[one.name][0]):
            panel.plot(*minima[one.name], "s", color=SERIES[1], label="best here")
        panel.axvline(one.printed[0], color="#888888", linestyle=":", label="best, printed")
        panel.set_title(f"Figure {one.figure}")
        panel.set_xlabel(one.name)
    axes[0].set_ylabel("mean |log2 of expected over actual place|")
    axes[0].legend(loc="best")
    return figure


def _places() -> Picture:
    """Figures 1 and 2: the performance by place, and by expected and actual place, in a round of 64."""
    n = 64
    place = np.arange(1.0, n + 1.0)
    figure, (left, right) = new_figure(9.0, 3.7, columns=2)
    left.plot(place, rank_performance(n, place), color=SERIES[0])
    for expected, colour in zip((2, 8, 32), SERIES, strict=False):
        right.plot(place, relative_performance(expected, place), color=colour, label=f"place {expected} expected")
    right.legend(loc="best")
    for axes, title in ((left, "Figure 1: rank performance"), (right, "Figure 2: relative performance")):
        axes.set_title(title)
        axes.set_xlabel(f"place of {n}")
    left.set_ylabel("wins")
    return Picture.of("places", "Performance by place", figure)


def _srm_figures(context: ExperimentContext) -> Iterator[Part]:
    yield _places()
    yield from of_each(_figures)(context)


EXPERIMENTS = (
    Experiment(
        "srm-figures",
        "How the constants of EloSRM were found",
        "Figures 1 to 8 of “An Elo-based rating system for TopCoder SRM”",
        _srm_figures,
        [
            "Each figure has the mean of |P| over all participants of all rounds, by one constant: a factor K; W, the "
            "number of rounds to the power alpha; C, the damping by P'; M, the bound of P; B, the bonus; N, the growth "
            "of the initial rating. The constants of the earlier figures have the printed values. K is fitted anew for "
            "every value, in the last figure B too. A best value at an end of its grid is that end. Long histories are "
            "cut, as each curve needs some hundred ratings of the history."
        ],
        data="instead",
        least=20,
    ),
)
