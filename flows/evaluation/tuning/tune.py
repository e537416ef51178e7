"""Find hyperparameters: tune on the beginning of a history, test on the rest, as the Elo-MMR paper does.

Finished trials are stored in the lake, one file a batch. A resumed search makes the same proposals from its seed, and
reads the stored results.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence

import numpy as np

from ranklake.storage import Dataset, Lake, LakeError
from ranklake.storage.datasets.tables.games import GAMES_KIND
from ranklake.storage.lake.access.lake import digest_of

from ...common.configuration.settings import find_system
from ...common.margins import check_points
from ...common.progress import ProgressCallback, not_shown
from ...common.skipping import IN_COMMAND, Skipping, count_ignored, ignored_lines
from ...common.text import count
from ...compilation.compile import CompileCallback, announce, compile_parts, parts_for
from ...engines.factory import open_engine
from ...engines.task_pool import TaskPool
from ...entrants.given_games import between_results
from ...events.apply import check_resets
from ...events.resets import add_resets, due_resets
from ...rating.config import check_dataset_scores, check_dataset_times
from ...rating.player_state import add_state, player_state
from ...results.components import Components
from ...results.meetings import meetings_of_dataset
from .criteria import why_no_games, why_not_scored
from .folds import Fold, check_blocks, cuts_of, scored_folds, unfinished
from .history import TrialRounds, load_history
from .proposals import Proposals, Settings
from .record import TuningConfig, TuningRecord
from .report import Found, TuningReport
from .scoring import LOG_LOSS3, kernels_of
from .spaces import chosen_in, margin_in
from .trials import RUNGS, Trial, best_first, run_trial, settings_key, tested

_SAVE_SECONDS = 5.0  # between writes of an incomplete batch
_SURVIVORS = 8  # number of complete trials before others may be pruned


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
    it has no points; or the system has no rule for scores of games; or games have no such metric.
    Raises LakeError: the data set is missing or too short, or the search of this name has another configuration.
    """
    dataset = Dataset.open(lake, config.dataset)
    config = config.for_kind(dataset.kind == GAMES_KIND)
    system = find_system(config.system)
    check_dataset_times(dataset, system.params, chosen_in(system, config.space))
    check_dataset_scores(system, dataset)
    resets = due_resets(dataset)
    check_resets(system, system.params(), dataset, resets)
    n_contests = dataset.contests.num_rows
    n_train = int(np.floor(n_contests * config.train_share))
    skipping = Skipping.of(system)
    state = player_state(config.system, dataset)
    history = load_history(dataset, skipping, state, whole_periods=system.all_games is not None)
    check_points(margin_in(system, config.space), len(history.rounds.points) > 0, f"data set {config.dataset}")
    _check_two(config, dataset, history)
    train, cuts = history.first(n_train), tuple[int, ...]()
    _check_scored(config, train, n_train)
    if config.folds > 1:
        cuts, train = _folds_of(config, history, n_train), history
    contents = [digest.encode() for digest in dataset.contests.column("content_digest").to_pylist()]
    add_state(contents, dataset, state)
    add_resets(contents, resets)
    suffix = _suffix(config, history)
    digest = digest_of(b"".join(contents)) + suffix
    used = digest if cuts else digest_of(b"".join(contents[:n_train])) + suffix
    record = TuningRecord.open(lake, config, used)
    began = time.perf_counter()
    trials, n_new = _try_all(config, task_pool, proposals, record, train, cuts, on_progress, on_compile)
    seconds = time.perf_counter() - began
    ranked, found, folds = _ranked(trials, config.metric)[:best], [], list[Fold]()
    if cuts:
        found = [Found(trial.settings, trial.scores, {}) for trial in ranked]
        completed = _completed(config, task_pool, record, digest, trials, train, cuts)
        folds = scored_folds(trials, cuts, config.metric, completed)
    else:
        with open_engine() as engine:
            for number, trial in enumerate(ranked, start=1):
                on_progress(len(trials), proposals.total, f"testing the best, {number} of {len(ranked)}")
                test = record.tests.get((key := settings_key(trial.settings)) + digest)
                if test is None:
                    test = tested(history, n_train, config.system, trial, engine, config.filter, config.metric)
                    record.save_test(key + digest, test)
                found.append(Found(trial.settings, trial.scores, test))
        for one in found[:1]:
            scores = (part.get(config.metric, math.nan) for part in (one.train, one.test))
            folds = [Fold(n_train, n_contests, one.settings, *scores)]
    ignored = tuple(ignored_lines(system, count_ignored(system, history.rounds), IN_COMMAND))
    apart = Components.numbered(meetings_of_dataset(dataset)).line_in(dataset)
    return TuningReport(config, trials, n_new, found, folds, n_train, n_contests, seconds, ignored, apart)


def _check_two(config: TuningConfig, dataset: Dataset, history: TrialRounds) -> None:
    """Raise ``LakeError`` if the chances of games are to be scored, and a contest is none."""
    if config.metric == LOG_LOSS3 and (larger := history.larger()) is not None:
        contest = f"contest {dataset.contests.column('contest_id')[larger].as_py()} of data set {config.dataset}"
        raise LakeError(why_no_games(history, config.filter, contest).format(metric="--metric"))


def _suffix(config: TuningConfig, history: TrialRounds) -> str:
    """What distinguishes the trials on some contests from those of older releases on the same ones."""
    rounds = history.rounds
    draws = "" if rounds.informative.all() else "-draws"  # release 0.1 skipped contests in which all tie
    between = config.metric == "brier" and between_results(rounds.score).any()  # once compared with a win
    return f"{draws}-scores" if between else draws


def _folds_of(config: TuningConfig, history: TrialRounds, n_train: int) -> tuple[int, ...]:
    try:
        cuts = cuts_of(history, n_train, config.folds)
        check_blocks(history, cuts, config.filter, config.metric)
    except ValueError as error:
        raise LakeError(f"data set {config.dataset}: {error}") from None
    return cuts


def _completed(
    config: TuningConfig,
    task_pool: TaskPool,
    record: TuningRecord,
    digest: str,
    trials: Sequence[Trial],
    history: TrialRounds,
    cuts: tuple[int, ...],
) -> dict[str, list[float]]:
    """The scores of all blocks of the pruned trials that a fold chose: these run again, to the end."""
    stopped = {settings_key(trial.settings): trial for trial in unfinished(trials, config.folds, config.metric)}
    missing = [key for key in stopped if f"{key}{digest} folds" not in record.tests]
    jobs = [(config.system, stopped[key].settings, config.metric, config.filter, None, cuts) for key in missing]
    for at, trial in task_pool.run(run_trial, history, jobs) if jobs else ():
        record.save_test(f"{missing[at]}{digest} folds", {str(at): score for at, score in enumerate(trial.within)})
    return {key: list(record.tests[f"{key}{digest} folds"].values()) for key in stopped}


def _try_all(
    config: TuningConfig,
    task_pool: TaskPool,
    proposals: Proposals,
    record: TuningRecord,
    train: TrialRounds,
    cuts: tuple[int, ...],
    on_progress: ProgressCallback,
    on_compile: CompileCallback,
) -> tuple[list[Trial], int]:
    trials: list[Trial] = []
    n_new = 0

    def show(done: dict[int, Trial]) -> None:
        best = _ranked([*trials, *done.values()], config.metric)[:1]
        text = f"best {config.metric} {best[0].scores[config.metric]:.5g}" if best else ""
        on_progress(len(trials) + len(done), proposals.total, text)

    def run(asked: Sequence[Settings]) -> list[Trial]:
        nonlocal n_new
        batch = len(trials) // proposals.batch
        done = {at: record.tried[key] for at, one in enumerate(asked) if (key := settings_key(one)) in record.tried}
        missing = [at for at in range(len(asked)) if at not in done]
        n_new += len(missing)
        if missing:
            compile_parts(
                [*parts_for(config.system, np.diff(train.rounds.offsets)), *kernels_of(config.metric)], on_compile
            )
            limits = _limits(trials, config.metric) if config.prune else None
            jobs = [(config.system, asked[at], config.metric, config.filter, limits, cuts) for at in missing]
            saved = time.monotonic()
            show(done)  # here, not for stored batches: the time left follows from what takes time
            try:
                for at, trial in task_pool.run(run_trial, train, jobs):
                    done[missing[at]] = trial
                    show(done)
                    if time.monotonic() - saved > _SAVE_SECONDS:
                        saved = time.monotonic()
                        record.save(batch, done)
            finally:  # an interrupted search keeps its finished trials
                record.save(batch, done)
        trials.extend(done[at] for at in range(len(asked)))
        return trials[-len(asked) :]

    return proposals.try_all(train, run), n_new


def _check_scored(config: TuningConfig, train: TrialRounds, n_train: int) -> None:
    share = f"the first {config.train_share:g} of data set {config.dataset} ({count(n_train, 'contest')})"
    if why := why_not_scored(train, config.filter, config.metric):
        raise LakeError(f"{share} has {why.format(share='--train-share', filter='--filter', metric='--metric')}")


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
