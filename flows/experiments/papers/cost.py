"""Time to rate a history (Table 3 of the Elo-MMR paper), and the cost of a round by its number of players."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from ranklake.rating_kernels import SYSTEMS, Rounds
from ranklake.rating_kernels.metrics.metrics import FILTERS
from ranklake.rating_kernels.registry import of_contests

from ...common.text import slug as slug_of
from ...compilation.compile import compile_kernels
from ...engines.threads import Threads
from ...execution.rounds import rate_rounds
from ...plotting.figures import SERIES, log_scale, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table, of_each
from ..data import History
from ..findings import span
from ..published import LIKE, NAMES, SECONDS, contenders

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
_SETTINGS = {"codeforces": {"arithmetic": "real"}}  # the simulated ratings are not integers
_SHOWN = ("elo-mmr", "elo-mmx", "elo-mms", "codeforces", "topcoder", "trueskill", "glicko", "elo-r", "bar")


def _speed(context: ExperimentContext, history: History) -> Iterator[Part]:
    of_paper = LIKE.get(history.name, history.name)
    rows: list[tuple[Any, ...]] = []
    for one, rated in context.rated(history, contenders(of_paper, 0), warm=True):
        began = time.perf_counter()
        rated.scores(list(FILTERS))
        scoring = time.perf_counter() - began
        seconds = rated.seconds + scoring
        printed = SECONDS.get(of_paper, {}).get(one.system) if one.printed else None
        ratio, in_paper = None if printed is None else printed / seconds, NAMES[one.system] if one.printed else None
        rate = history.rounds.n_rows / seconds / 1e6
        rows.append((one.label, in_paper, rated.seconds, scoring, seconds, printed, ratio, rate))
    slug = slug_of(history.name)
    headings = ("system", "in the paper", "rating, s", "scoring, s", "together, s", "printed, s", "printed / here",
                "million participations / s")  # fmt: skip
    caption = f"{history.name}: {len(history.rounds):,} contests, {history.rounds.n_rows:,} participations"
    digits = dict.fromkeys(headings[2:5], 3) | {"printed, s": 2, "million participations / s": 2}
    yield Table.of_rows(slug, caption, headings, rows, digits)
    figure, axes = new_figure(8.0, 0.26 * len(rows) + 1.0)
    y = np.arange(len(rows))[::-1]
    axes.plot([row[2] for row in rows], y, "o", color=SERIES[0], label="rating", markersize=5)
    axes.plot([row[4] for row in rows], y, "o", color=SERIES[0], fillstyle="none", label="and scoring", markersize=6)
    in_print = np.array([np.nan if row[5] is None else row[5] for row in rows])
    axes.plot(in_print, y, "x", color=SERIES[1], label="printed", markersize=6, markeredgewidth=1.6)
    axes.set_yticks(y, [row[0] for row in rows])
    log_scale(axes, "x")
    axes.set_xlabel("seconds")
    axes.legend(loc="best")
    yield Picture.of(slug, caption, figure)
    ratios = {row[0]: row[6] for row in rows if row[6] is not None}
    longer = f" The printed times are longer by factors {span(ratios, 1)}." if ratios else ""
    yield f"Found: rating and scoring {history.name} takes {span({row[0]: row[4] for row in rows}, 2, ' s')}.{longer}"


def _scaling(context: ExperimentContext) -> Iterator[Part]:
    seconds = {name: _times(context, name) for name in of_contests()}
    columns: dict[str, Any] = {"system": list(seconds)}
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
    yield Picture.of("scaling", "Seconds a round", figure)
    growth, cost = "growth from 30,000 to 300,000", "µs a player at the end"
    digits = {heading: 3 for heading in columns if heading.endswith(" s")} | {cost: 2}
    yield Table("seconds", "Seconds a round", columns, digits)
    factors, costs = (dict(zip(seconds, columns[heading], strict=True)) for heading in (growth, cost))
    yield (
        f"Found: with ten times the players the time of a round grows {span(factors, 1, ' times')}; that of a direct "
        f"sum grows 100 times. A round of {SIZES[-1]:,} players costs {span(costs, 2, ' µs')} a player."
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


EXPERIMENTS = (
    Experiment(
        "speed",
        "Time to rate a history",
        "Table 3 of Ebtekar and Liu, “An Elo-like System for Massive Multiplayer Competitions” (arXiv:2101.00400)",
        of_each(_speed),
        [
            "Seconds to rate all contests and to score each of them before it is rated, as in the paper; on this "
            "machine, with compiled kernels. The paper's times are for 24 cores of 2.0 GHz and for approximations with "
            "at most 500 opponents and 500 past performances; the sums here are exact. Machines and data differ, so "
            "the ratio shows an order of magnitude only."
        ],
        data="beside",
    ),
    Experiment(
        "scaling",
        "Cost of a round by its number of players",
        "Section 6.1 of Ebtekar and Liu, arXiv:2101.00400, whose engine samples opponents",
        _scaling,
        [
            "One round of players with earlier rounds, all at different places, rated exactly; the minimum of "
            "several runs on this machine. The paper limits the cost by sampling opponents (section 6.1). The cost "
            "of a direct sum over all opponents grows with the square of their number."
        ],
    ),
)
