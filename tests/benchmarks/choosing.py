"""The rows of docs/choosing.md: each system on each history, and the level of ratings with shifts and without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from against_peer import CODEFORCES, TENNIS
from history import TENNIS_COLUMNS, load
from timing import Options, Result

from ranklake.flows.benchmark.candidates import candidates_of
from ranklake.flows.benchmark.finished import FinishedCells
from ranklake.flows.benchmark.histories import source_of
from ranklake.flows.benchmark.run import BenchmarkRequest, Watching, run_benchmark
from ranklake.flows.common.configuration.settings import build_params
from ranklake.flows.common.skipping import Skipping
from ranklake.flows.engines.factory import open_engine
from ranklake.flows.engines.task_pool import open_whole_pool
from ranklake.flows.evaluation.tuning.spaces import as_texts
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.results.level_shifts import LevelShifts
from ranklake.rating_kernels import SYSTEMS, Outcome, Rounds

HISTORIES = {
    "f1": ("f1_races.parquet", ("contest=contest_id", "player=player", "time=time")),
    "tennis": (TENNIS, TENNIS_COLUMNS),
    "reddit": ("elo-datasets/reddit.tar.xz", ()),
    "ctf": ("elo-datasets/ctf.tar.xz", ()),
    "codeforces": (CODEFORCES, ()),
}
SPLIT: dict[str, Any] = {"tie_mode": "split"}
CHOICES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("elo-mmr", {}),
    ("elo-mmr", SPLIT),
    ("elo-mmr", SPLIT | {"sigma_init": 100.0}),
    ("elo-mmx", {}),
    ("elo-mmx", SPLIT),
    ("elo-mms", {}),
    ("elo-mms", {"sigma_init": 200.0}),
    ("elo-mms", {"practice": 0.0}),
    ("elo-r", {}),
    ("codeforces", {}),
    ("cf-general", {}),
    ("leetcode", {}),
    ("atcoder", {}),
    ("topcoder", {}),
    ("elo-srm", {}),
    ("elo", {}),
    ("glicko", {}),
    ("glicko2", {}),
    ("glicko-allpairs", {}),
    ("trueskill", {}),
    ("trueskill", {"model": "place"}),
    ("bar", {}),
)


def choosing(options: Options) -> Iterator[Result]:
    """Every history by every system: pairs predicted, their chances, drift of the level, seconds."""
    candidates = candidates_of([" ".join((name, *as_texts(settings))) for name, settings in CHOICES])
    for label, (file, columns) in HISTORIES.items():
        source = source_of(label, str(options.file(file)), columns, {"on_error": "skip"})
        with open_whole_pool() as pool:
            document = run_benchmark(
                BenchmarkRequest([source], candidates), FinishedCells(None, 0.0), pool, None, Watching()
            )
        for row in document["histories"][0]["systems"]:
            what = f"{label} {row['label']}"
            scores = row.get("scores", {}).get("experienced", {}) | {"drift": row.get("drift")}
            figures = {name: value for name in ("pair_inversion", "own_cross_entropy", "drift")
                       if (value := scores.get(name)) is not None}  # fmt: skip
            shown = ", ".join(f"{name} {value:.4g}" for name, value in figures.items()) or row["status"]
            yield Result("choosing", f"{what}: {shown}", row.get("seconds"), figures=figures, case=what)


LEVELS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("elo-mms", {}),
    ("elo-mms", {"sigma_init": 200.0}),
    ("elo-mms", {"sigma_init": 120.0}),
    ("elo-mms", {"duel": 1.0, "resolution": "exact"}),
    ("elo-mmr", {}),
)
PARTS = 5


def level(options: Options) -> Iterator[Result]:
    """The mean rating of participants in each fifth of a history: as it is, and with the shifts of a steady level."""
    for label, (file, columns) in HISTORIES.items():
        history = load(options.file(file), options.limit, columns)
        if not history.rounds.time_seconds.any():
            continue
        for name, settings in LEVELS:
            rounds, outcome = _rated(history, name, settings)
            sums = np.add.reduceat(outcome.mu, rounds.offsets[:-1])
            shifts = LevelShifts.measure(rounds.time_seconds, sums, np.diff(rounds.offsets), 0)
            of_row = np.repeat(shifts.at(np.arange(len(rounds))), np.diff(rounds.offsets))
            means = [
                [float(part.mean()) for part in np.array_split(mu, PARTS)] for mu in (outcome.mu, outcome.mu - of_row)
            ]
            free, steady = (", ".join(f"{mean:,.0f}" for mean in of) for of in means)
            what = " ".join((label, name, *as_texts(settings)))
            yield Result(
                "level", f"{what}: free {free}; steady {steady}; last shift {float(shifts.at()):+,.0f}", targets={},
                figures={"free": means[0][-1] - means[0][0], "steady": means[1][-1] - means[1][0]}, case=what,
            )  # fmt: skip


def _rated(history: Any, name: str, settings: dict[str, Any]) -> tuple[Rounds, Outcome]:
    system = SYSTEMS[name]
    params = build_params(system, settings)
    rounds = history.rounds.keep(Skipping.of(system).keep(history.rounds))
    with open_engine("threads") as engine:
        return rounds, rate_rounds(system, params, system.newcomers(params, len(history.handles)), rounds, engine)
