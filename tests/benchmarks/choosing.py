"""The row of docs/choosing.md: each system on each history."""

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
from ranklake.rating_kernels import SYSTEMS
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


def _one(history: Any, name: str, settings: dict[str, Any], repeats: int) -> tuple[Best, float, float]:
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
    level = Level(len(history.handles))
    level.add(rounds, outcome)
    scores = score_rounds(
        rounds.offsets, rounds.lo, outcome.mu_prior, outcome.n_before, [FILTERS["experienced"]], probabilities=False
    )["experienced"]
    return Best(seconds), scores.mean("pair_inversion", slice(int(len(rounds) * SKIP), None)), level.drift()
