"""Find hyperparameters: tune on the beginning of a history, test on the rest, as the Elo-MMR paper does.

Finished trials are stored in the lake, one file a batch. A resumed search makes the same proposals from its seed, and
reads the stored results.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ranklake.rating_kernels.metrics.metrics import FILTERS, keep
from ranklake.rating_kernels.metrics.rank_information import LEAST
from ranklake.rating_kernels.warm import SCORES
from ranklake.storage import Dataset, Lake, LakeError
from ranklake.storage.lake.access.lake import digest_of

from ...common.configuration.settings import find_system
from ...common.margins import check_points
from ...common.progress import ProgressCallback, not_shown
from ...common.skipping import IN_COMMAND, Skipping, count_ignored, ignored_lines
from ...common.text import count
from ...compilation.compile import CompileCallback, announce, compile_parts, parts_for
from ...engines.factory import open_engine
from ...engines.task_pool import TaskPool
from ...rating.config import check_dataset_scores, check_dataset_times
from ...rating.player_state import add_state, player_state
from .proposals import Proposals, Settings
from .record import TuningConfig, TuningRecord, possible_metrics, settings_key
from .spaces import chosen_in, margin_in
from .trials import RUNGS, Trial, TrialRounds, best_first, load_history, run_trial, tested

_SAVE_SECONDS = 5.0  # between writes of an incomplete batch
_SURVIVORS = 8  # number of complete trials before others may be pruned


@dataclass(frozen=True, slots=True)
class Found:
    """One of the best trials, with its scores in the test; no scores if ratings diverged in the test."""

    settings: dict[str, str]
    train: dict[str, float]
    test: dict[str, float]


@dataclass(frozen=True, slots=True)
class TuningReport:
    """The result of a search.

    ``trials``: all trials in the order of their proposals.
    ``best``: the best trials, best first.
    ``n_train``, ``n_contests``: number of contests for training; number of all contests.
    ``warnings``: what the system ignores of the contests.
    """

    trials: list[Trial]
    n_new: int
    best: list[Found]
    n_train: int
    n_contests: int
    seconds: float
    warnings: tuple[str, ...] = ()


def tune(
    lake: Lake,
    config: TuningConfig,
    task_pool: TaskPool,
    proposals: Proposals,
    best: int = 3,
    on_progress: ProgressCallback = not_shown,
    on_compile: CompileCallback = announce,
) -> TuningReport:
    """Run the proposed trials that are not stored yet; test the best ones.

    ``proposals``: ``config.proposals()``, made before the lake is opened, so that an invalid space fails at once.
    ``on_progress``: called with the number of finished trials, the number of all trials, and a text about the best one.
    Raises ValueError: the space has a hyperparameter that counts days, and the data set has no times; or a margin, and
    it has no points; or the system has no rule for scores of games.
    Raises LakeError: the data set is missing or too short, or the search of this name has another configuration.
    """
    dataset = Dataset.open(lake, config.dataset)
    system = find_system(config.system)
    check_dataset_times(dataset, system.params, chosen_in(system, config.space))
    check_dataset_scores(system, dataset)
    n_contests = dataset.contests.num_rows
    n_train = int(np.floor(n_contests * config.train_share))
    skipping = Skipping.of(system)
    state = player_state(config.system, dataset)
    history, first_round = load_history(dataset, n_train, skipping, state)
    check_points(margin_in(system, config.space), len(history.rounds.points) > 0, f"data set {config.dataset}")
    contents = [digest.encode() for digest in dataset.contests.column("content_digest").to_pylist()]
    add_state(contents, dataset, state)
    # a suffix for histories with contests in which all tie, which release 0.1 skipped
    draws = "" if history.rounds.informative.all() else "-draws"
    record = TuningRecord.open(lake, config, digest_of(b"".join(contents[:n_train])) + draws)
    train = history.first(first_round)
    _check_scored(config, train, n_train)
    began = time.perf_counter()
    trials, n_new = _try_all(config, task_pool, proposals, record, train, on_progress, on_compile)
    seconds = time.perf_counter() - began
    found, digest = [], digest_of(b"".join(contents)) + draws
    with open_engine() as engine:
        for number, trial in enumerate(ranked := _ranked(trials, config.metric)[:best], start=1):
            on_progress(len(trials), proposals.total, f"testing the best, {number} of {len(ranked)}")
            test = record.tests.get((key := settings_key(trial.settings)) + digest)
            if test is None:
                test = tested(history, first_round, config.system, trial, engine, config.filter, config.metric)
                record.save_test(key + digest, test)
            found.append(Found(trial.settings, trial.scores, test))
    ignored = tuple(ignored_lines(system, count_ignored(system, history.rounds), IN_COMMAND))
    return TuningReport(trials, n_new, found, n_train, n_contests, seconds, ignored)


def _try_all(
    config: TuningConfig,
    task_pool: TaskPool,
    proposals: Proposals,
    record: TuningRecord,
    train: TrialRounds,
    on_progress: ProgressCallback,
    on_compile: CompileCallback,
) -> tuple[list[Trial], int]:
    trials: list[Trial] = []
    n_new = 0

    def run(asked: Sequence[Settings]) -> list[Trial]:
        nonlocal n_new
        batch = len(trials) // proposals.batch
        done = {at: record.tried[key] for at, one in enumerate(asked) if (key := settings_key(one)) in record.tried}
        missing = [at for at in range(len(asked)) if at not in done]
        n_new += len(missing)
        if missing:
            compile_parts([*parts_for(config.system, np.diff(train.rounds.offsets)), SCORES], on_compile)
            limits = _limits(trials, config.metric) if config.prune else None
            jobs = [(config.system, asked[at], config.metric, config.filter, limits) for at in missing]
            saved = time.monotonic()
            try:
                for at, trial in task_pool.run(run_trial, train, jobs):
                    done[missing[at]] = trial
                    best = _ranked([*trials, *done.values()], config.metric)[:1]
                    text = f"best {config.metric} {best[0].scores[config.metric]:.3f}" if best else ""
                    on_progress(len(trials) + len(done), proposals.total, text)
                    if time.monotonic() - saved > _SAVE_SECONDS:
                        saved = time.monotonic()
                        record.save(batch, done)
            finally:  # an interrupted search keeps its finished trials
                record.save(batch, done)
        trials.extend(done[at] for at in range(len(asked)))
        return trials[-len(asked) :]

    return proposals.try_all(train, run), n_new


def _check_scored(config: TuningConfig, train: TrialRounds, n_train: int) -> None:
    one = FILTERS[config.filter]
    share = f"the first {config.train_share:g} of data set {config.dataset} ({count(n_train, 'contest')})"
    if not np.any(train.n_before >= one.least):
        rule = f"no player with {count(one.least, 'round')} before, so that there is nothing to score"
        raise LakeError(f"{share} has {rule}; use a larger --train-share or another --filter")
    kept = keep(train.rounds.offsets, train.rounds.lo, train.n_before >= one.least, one.top, all_tied=True)
    possible = possible_metrics(one, int(kept.weight.max(initial=0)))
    if config.metric not in possible:
        least = LEAST if config.metric == "rank_information" else 2
        rule = f"no contest with {least} players under filter {one.name}, which {config.metric} needs"
        raise LakeError(f"{share} has {rule}; use a larger --train-share or a --metric of {', '.join(possible)}")


def _ranked(trials: Sequence[Trial], metric: str) -> list[Trial]:
    """Complete trials, best first, without repeated settings; equal trials keep their order."""
    distinct: dict[str, Trial] = {}
    for trial in trials:
        if not trial.stopped and not trial.error:
            distinct.setdefault(settings_key(trial.settings), trial)
    return best_first(distinct.values(), metric)


def _limits(trials: Sequence[Trial], metric: str) -> tuple[float, ...] | None:
    """The median of the complete trials at each rung; no limit at the last rung."""
    whole = [trial.rungs for trial in trials if not trial.stopped and not trial.error]
    if len(whole) < _SURVIVORS:
        return None
    return (*(statistics.median(rungs[at] for rungs in whole) for at in range(RUNGS - 1)), float("nan"))
