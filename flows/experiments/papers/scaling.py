"""The cost of a round by its number of players: linear time, measured."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ranklake.rating_kernels import SYSTEMS, Rounds

from ...compilation.compile import compile_kernels
from ...engines.threads import Threads
from ...execution.rounds import rate_rounds
from ...plotting.figures import SERIES, log_scale, new_figure
from ..base import Experiment, ExperimentContext, Picture, Report, Table

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
_SETTINGS = {"codeforces": {"arithmetic": "real"}}  # the simulated ratings are not integers
_SHOWN = ("elo-mmr", "elo-mmx", "elo-mms", "codeforces", "topcoder", "trueskill", "glicko", "elo-r", "bar")


def _run(context: ExperimentContext) -> Report:
    seconds = {name: _times(context, name) for name in SYSTEMS}
    headings = {"system": list(seconds)}
    columns: dict[str, Any] = dict(headings)
    for i, size in enumerate(SIZES):
        columns[f"{size:,} players, s"] = [times[i] for times in seconds.values()]
    columns["growth from 30,000 to 300,000"] = [times[-1] / times[-3] for times in seconds.values()]
    columns["µs a player at the end"] = [1e6 * times[-1] / SIZES[-1] for times in seconds.values()]
    figure, axes = new_figure(7.5, 4.6)
    for name, colour in zip(_SHOWN, SERIES, strict=False):
        axes.plot(SIZES, seconds[name], color=colour, label=name, linewidth=1.4, marker="o", markersize=3)
    first = seconds["elo-mmr"][0]
    axes.plot(SIZES, [first * size / SIZES[0] for size in SIZES], ":", color="#888888", label="linear")
    axes.plot(
        SIZES[:4], [first * (size / SIZES[0]) ** 2 for size in SIZES[:4]], "--", color="#bbbbbb", label="quadratic"
    )
    log_scale(axes, "x", "y")
    axes.set_xlabel("players of one round, all at distinct places")
    axes.set_ylabel("seconds")
    axes.legend(loc="best", ncols=2, fontsize="small")
    digits = {heading: 3 for heading in columns if heading.endswith(" s")} | {"µs a player at the end": 2}
    return Report(
        [
            "One round of players with earlier rounds, all at different places, rated exactly; the minimum of "
            "several runs on this machine. The paper limits the cost by sampling opponents (section 6.1). The cost "
            "of a direct sum over all opponents grows with the square of their number.",
            Picture.of("scaling", "Seconds a round", figure),
            Table("seconds", "Seconds a round", columns, digits),
        ]
    )


def _times(context: ExperimentContext, name: str) -> list[float]:
    system, times = SYSTEMS[name], []
    params = system.params(**_SETTINGS.get(name, {}))
    compile_kernels(name, SIZES)
    unit = float(params.sigma_init) / 350.0 or 1.0
    for size in SIZES:
        context.on_step(f"{name}: {size:,} players")
        rng = np.random.default_rng(context.seed)
        mu = params.mu_init + unit * rng.normal(0.0, 350.0, size)
        sigma = np.full(size, unit * 120.0 if params.sigma_init > 0 else 0.0)
        order = np.argsort(-(mu + unit * rng.normal(0.0, 200.0, size))).astype(np.int32)
        places = np.arange(size)
        rounds = Rounds.from_columns([0, size], order, places, places, [86_400])
        best = float("inf")
        for _ in range(max(3, min(20, 60_000 // size))):
            beliefs = system.newcomers(params, size)
            beliefs.mu[:], beliefs.sigma[:], beliefs.n_rounds[:] = mu, sigma, 5
            for column, values in system.state(params, mu, sigma).items():
                beliefs.state[column][:] = values
            with Threads() as engine:
                began = time.perf_counter()
                rate_rounds(system, params, beliefs, rounds, engine)
                best = min(best, time.perf_counter() - began)
        times.append(best)
    return times


EXPERIMENT = Experiment(
    "scaling",
    "Cost of a round by its number of players",
    "Section 6.1 of Ebtekar and Liu, arXiv:2101.00400, whose engine samples opponents",
    _run,
)
