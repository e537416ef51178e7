"""The rows of docs/choosing.md: each system on each history, and the level of ratings with shifts and without."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
from against_peer import CODEFORCES, TENNIS
from history import TENNIS_COLUMNS, load
from timing import Best, Options, Result

from ranklake.flows.common.configuration.settings import build_params
from ranklake.flows.common.skipping import Skipping
from ranklake.flows.engines.factory import open_engine
from ranklake.flows.evaluation.scores import score_rounds
from ranklake.flows.evaluation.tuning.spaces import as_texts
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.rating.commits.level import Level
from ranklake.flows.results.level_shifts import LevelShifts
from ranklake.rating_kernels import SYSTEMS, Outcome, Rounds
from ranklake.rating_kernels.metrics.metrics import FILTERS

SKIP = 0.1  # share of the rounds at the start without scores, as in the Elo-MMR paper
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
    """Every history by every system: pairs predicted, drift of the level, seconds."""
    for label, (file, columns) in HISTORIES.items():
        history = load(options.file(file), options.limit, columns)
        for name, settings in CHOICES:
            seconds, inversion, drift = _one(history, name, settings, options.repeats(2, 2))
            shown = f"{drift:+.1f}" if abs(drift) < 1e6 else "diverges" if np.isfinite(drift) else "no times"
            what = " ".join((label, name, *as_texts(settings)))
            yield Result(
                "choosing", f"{what}: {inversion:.2f} % of pairs, drift a year {shown}", seconds, targets={},
                figures={"pair_inversion": inversion, "drift": drift}, case=what,
            )  # fmt: skip


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
            rounds, outcome, _ = _rated(history, name, settings, 1)
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


def _one(history: Any, name: str, settings: dict[str, Any], repeats: int) -> tuple[Best, float, float]:
    rounds, outcome, seconds = _rated(history, name, settings, repeats)
    drift = Level(len(history.handles))
    drift.add(rounds, outcome)
    scores = score_rounds(
        rounds.offsets, rounds.lo, outcome.mu_prior, outcome.n_before, [FILTERS["experienced"]], probabilities=False
    )["experienced"]
    return Best(seconds), scores.mean("pair_inversion", slice(int(len(rounds) * SKIP), None)), drift.drift()


def _rated(history: Any, name: str, settings: dict[str, Any], repeats: int) -> tuple[Rounds, Outcome, list[float]]:
    system = SYSTEMS[name]
    params = build_params(system, settings)
    rounds = history.rounds.keep(Skipping.of(system).keep(history.rounds))
    seconds = []
    with open_engine("threads") as engine:
        for _ in range(repeats):  # the first may compile
            beliefs = system.newcomers(params, len(history.handles))
            began = perf_counter()
            outcome = rate_rounds(system, params, beliefs, rounds, engine)
            seconds.append(perf_counter() - began)
            if seconds[0] > 5.0:
                break
    return rounds, outcome, seconds
