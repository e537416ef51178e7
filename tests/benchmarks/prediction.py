"""Rows about predictions: speed of evaluation and search, and Table 2 of the Elo-MMR paper."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from against_peer import CODEFORCES
from changes import RUN, rated
from history import lake_of
from pyarrow import csv
from timing import Best, Options, Result, best_of, invoke, run_command

from ranklake.flows.engines.factory import open_engine
from ranklake.flows.engines.task_pool import open_task_pool
from ranklake.flows.evaluation.tuning.history import load_history
from ranklake.flows.evaluation.tuning.published_grids import published_grid
from ranklake.flows.evaluation.tuning.record import TuningConfig
from ranklake.flows.evaluation.tuning.spaces import as_texts
from ranklake.flows.evaluation.tuning.trials import held_out_scores, run_trial
from ranklake.flows.evaluation.tuning.tune import TuningReport, tune
from ranklake.flows.experiments.published import PRINTED, TUNED
from ranklake.flows.preview.run_preview import RunPreview
from ranklake.flows.preview.standings import Standings
from ranklake.flows.results.titles import CODEFORCES as CODEFORCES_TITLES
from ranklake.storage import Dataset, Lake

PAPER_ROUNDS, TRAIN_ROUNDS = 1087, 109
POINTS, POINTS_SECONDS = 200, 15.0
EVALUATE_SECONDS = 10.0
PREVIEWED, PREVIEW_SECONDS, PREVIEW_IN_MEMORY = 25_000, 1.0, 0.05
# Hyperparameters of Elo-MMR in the search.
SPACE = ("weight_limit=0.05:0.5:log", "sig_limit=25:120:log", "rho=0,0.04,0.2,1", "drift_per_day=0:30")
TRIALS, FEW_TRIALS = 80, 8
SHARE = 0.1  # of the contests, at the start: hyperparameters are chosen on them
LEAST_INVERSION, MOST_DEVIATION = 78.6, 14.8


def grid_search(options: Options) -> Iterator[Result]:
    """200 settings of Elo-MMR on the first 109 rounds of Codeforces."""
    with lake_of(options.file(CODEFORCES), options.least(TRAIN_ROUNDS)) as lake:
        history = load_history(Dataset.open(lake, "d"))
    points = published_grid("elo-mmr")
    chosen = np.random.default_rng(0).permutation(len(points))[: options.least(POINTS)]
    jobs = [("elo-mmr", dict(text.split("=", 1) for text in as_texts(points[at])), "pair_inversion") for at in chosen]
    with open_task_pool() as task_pool:
        list(task_pool.run(run_trial, history, jobs[:4]))  # compiles
        began = time.process_time()
        repeats = options.repeats(2)
        seconds, trials = best_of(repeats, lambda _: [trial for _, trial in task_pool.run(run_trial, history, jobs)])
        cpu = (time.process_time() - began) / repeats
    best = max(trial.scores["pair_inversion"] for trial in trials)
    what = f"{len(jobs)} settings of elo-mmr on {len(history.rounds)} rounds, {history.rounds.n_rows:,} participations"
    yield Result(
        "search-grid", f"{what}; best pair inversion {best:.3f}; {cpu:.1f} s of all cores", seconds,
        targets={f"at most {POINTS_SECONDS:g} s: {seconds:.1f} s": seconds <= POINTS_SECONDS},
        figures={"pair_inversion": best, "cpu_seconds": cpu},
    )  # fmt: skip


def evaluation(options: Options) -> Iterator[Result]:
    """`ranklake evaluate` of a full Codeforces run, the whole command."""
    with rated(options) as (lake, _, _):
        words = (invoke(), "evaluate", "--run", RUN, "--format", "json", "--lake", lake)
        turns = [run_command(*words) for _ in range(options.repeats(3))]
    done = min(turns, key=lambda command: command.seconds)
    weight = json.loads(done.output[done.output.index("{") :])["filters"]["everyone"]["weight"]
    yield Result(
        "evaluate",
        f"ranklake evaluate, all metrics and filters, {weight:,} participations predicted; {done.cpu_seconds:.1f} s of "
        f"all cores; peak {done.peak_bytes / 1e9:.2f} GB",
        Best(turn.seconds for turn in turns),
        targets={f"at most {EVALUATE_SECONDS:g} s: {done.seconds:.1f} s": done.seconds <= EVALUATE_SECONDS},
        figures={"cpu_seconds": done.cpu_seconds, "peak_bytes": done.peak_bytes},
    )


def previews(options: Options) -> Iterator[Result]:
    """`ranklake preview` of 25,000 participants with a full Codeforces run, the whole command; then in memory."""
    with rated(options) as (lake, data, _), tempfile.TemporaryDirectory() as folder:
        handles = data.handles()
        n = min(options.least(PREVIEWED), len(handles))
        players = handles.take(pa.array(np.random.default_rng(0).permutation(len(handles))[:n])).to_pylist()
        path = Path(folder, "standings.csv")
        csv.write_csv(pa.table({"player": players, "rank": np.arange(1, n + 1)}), path)
        words = (invoke(), "preview", path, "--run", RUN, "--titles", "codeforces", "--format", "csv")
        turns = [run_command(*words, "--lake", lake) for _ in range(options.repeats(3))]
        done = min(turns, key=lambda command: command.seconds)
        state = RunPreview.open(Lake.open(lake), RUN, titles=CODEFORCES_TITLES)
        standings = Standings.of(players, np.arange(n), np.arange(n))
        inside, _ = best_of(options.repeats(3), lambda _: state.preview(standings))
    yield Result(
        "preview",
        f"ranklake preview of {n:,} participants, with titles; {done.cpu_seconds:.1f} s of all cores; "
        f"{inside:.3f} s with the run in memory",
        Best(turn.seconds for turn in turns),
        targets={
            f"at most {PREVIEW_SECONDS:g} s: {done.seconds:.2f} s": done.seconds <= PREVIEW_SECONDS,
            f"at most {PREVIEW_IN_MEMORY:g} s in memory: {inside:.3f} s": inside <= PREVIEW_IN_MEMORY,
        },
        figures={"cpu_seconds": done.cpu_seconds, "in_memory_seconds": inside},
    )


def paper_table_2(options: Options) -> Iterator[Result]:
    """Codeforces' row of Table 2: all systems with the paper's hyperparameters, and Elo-MMR after a search."""
    with lake_of(options.file(CODEFORCES), options.least(PAPER_ROUNDS)) as lake:
        dataset = Dataset.open(lake, "d")
        history, first = load_history(dataset), int(dataset.contests.num_rows * SHARE)
        with open_engine() as engine:
            for system, tuned in TUNED["codeforces"].items():
                began = time.perf_counter()
                inversion, deviation = (held_out_scores(history, first, system, one, engine) for one in tuned)
                seconds = time.perf_counter() - began
                found = inversion["pair_inversion"], deviation["rank_deviation"]
                what = _result(system, "as tuned by the paper", found, PRINTED["codeforces"][system])
                figures = {"pair_inversion": found[0], "rank_deviation": found[1]}
                yield Result("table-2", what, seconds, figures=figures, case=system)
        trials = FEW_TRIALS if options.quick else TRIALS
        share = SHARE if options.limit is None else 0.5  # of few contests, a tenth has no experienced player
        one, other = (_search(lake, metric, trials, share) for metric in ("pair_inversion", "rank_deviation"))
    found = one.best[0].test["pair_inversion"], other.best[0].test["rank_deviation"]
    settings = " ".join(f"{name}={value}" for name, value in one.best[0].settings.items())
    printed = PRINTED["codeforces"]["elo-mmr"]
    yield Result(
        "table-2", _result("elo-mmr", f"after {trials} trials: {settings}", found, printed), one.seconds, case="search",
        targets={
            f"pair inversion at least {LEAST_INVERSION}: {found[0]:.2f}": found[0] >= LEAST_INVERSION,
            f"rank deviation at most {MOST_DEVIATION}: {found[1]:.2f}": found[1] <= MOST_DEVIATION,
        },
        figures={"pair_inversion": found[0], "rank_deviation": found[1]},
    )  # fmt: skip


def _search(lake: Lake, metric: str, trials: int, share: float) -> TuningReport:
    config = TuningConfig(
        "d", "elo-mmr", space=SPACE, method="bayes", metric=metric, trials=trials, train_share=share
    )  # fmt: skip
    with open_task_pool() as task_pool:
        return tune(lake, config, task_pool, config.proposals(), best=1)


def _result(system: str, how: str, found: tuple[float, float], printed: tuple[float, float]) -> str:
    ours = f"pair inversion {found[0]:.2f}, rank deviation {found[1]:.2f}"
    return f"{system}, {how}: {ours}; printed {printed[0]}, {printed[1]}"
