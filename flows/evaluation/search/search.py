"""Search for hyperparameters: tune on the beginning of a history, test on the rest, as the Elo-MMR paper does.

Finished trials are stored in the lake, one file a batch. A resumed search makes the same proposals from its seed, and
reads the stored results.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ranklake.rating_kernels.metrics.metrics import FILTERS, HIGHER_IS_BETTER
from ranklake.rating_kernels.warm import SCORES
from ranklake.storage import DamagedError, Dataset, Lake, LakeError, MissingError
from ranklake.storage.lake import layout
from ranklake.storage.lake.lake import digest_of
from ranklake.storage.lake.naming import check_folder

from ...common.progress import ProgressCallback
from ...common.settings import find_system
from ...common.skipping import Skipping
from ...compilation.compile import compile_parts, parts_for
from ...engines.factory import open_engine
from ...engines.task_pool import TaskPool
from ...rating.chain import NUMERICS
from ...rating.config import default_run
from .proposals import Proposals, open_proposals
from .trials import RUNGS, History, Trial, held_out_scores, load_history, run_trial

__all__ = ["METRICS", "Found", "SearchConfig", "SearchReport", "search"]

METRICS = ("pair_inversion", "rank_deviation")
_SAVE_SECONDS = 5.0  # between writes of an incomplete batch
_SURVIVORS = 8  # number of complete trials before others may be pruned


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """The configuration of a search.

    Attributes
    ----------
    dataset, system : str
        Names of the data set and of the system.
    space : tuple of str
        Texts of ``--space``; empty for the system's default space, see :mod:`.published_grids`.
    method : str
        A key of ``proposals.METHODS``.
    metric, filter : str
        Metric to optimise, of ``METRICS``, under one of ``FILTERS``.
    train_share : float
        Share of the contests for training; the others are for the test.
    trials : int or None
        Number of trials; None for all points of a grid.
    seed : int
        Seed of the proposals.
    prune : bool
        Stop trials early that are worse than half of the others.
    name : str
        Name of the search in the lake; by default made of the other attributes.
    """

    dataset: str
    system: str
    space: tuple[str, ...] = ()
    method: str = "grid"
    metric: str = "pair_inversion"
    filter: str = "experienced"
    train_share: float = 0.1
    trials: int | None = None
    seed: int = 0
    prune: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {self.metric!r}")
        if self.filter not in FILTERS:
            raise ValueError(f"filter must be one of {', '.join(FILTERS)}, got {self.filter!r}")
        if not 0.0 < self.train_share < 1.0:
            raise ValueError(f"train_share must be between 0 and 1, both excluded, got {self.train_share}")
        if self.trials is not None and self.trials < 1:
            raise ValueError(f"trials must be >= 1, got {self.trials}")
        if not self.name:
            values = {key: value for key, value in self.identity().items() if key not in ("dataset", "system")}
            name = default_run(self.dataset, f"{self.system}-{self.method}", values)
            object.__setattr__(self, "name", name)
        layout.search_file(self.name)  # raises for a name that is not valid for a folder
        layout.contests_file(self.dataset)

    def identity(self) -> dict[str, Any]:
        """The configuration without ``trials``, which may grow, and ``name``."""
        return {key: value for key, value in asdict(self).items() if key not in ("name", "trials")}

    def proposals(self) -> Proposals:
        """The proposals; see :func:`.proposals.open_proposals`."""
        return open_proposals(self.method, find_system(self.system), self.space, self.metric, self.seed, self.trials)


@dataclass(frozen=True, slots=True)
class Found:
    """One of the best trials, with its scores in the test; no scores if ratings diverged in the test."""

    settings: dict[str, str]
    train: dict[str, float]
    test: dict[str, float]


@dataclass(frozen=True, slots=True)
class SearchReport:
    """The result of a search.

    Attributes
    ----------
    trials : list of Trial
        All trials in the order of their proposals.
    n_new : int
        Number of trials of this call.
    best : list of Found
        The best trials, best first.
    n_train, n_contests : int
        Number of contests for training; number of all contests.
    seconds : float
        Time of the trials.
    """

    trials: list[Trial]
    n_new: int
    best: list[Found]
    n_train: int
    n_contests: int
    seconds: float


def search(
    lake: Lake,
    config: SearchConfig,
    task_pool: TaskPool,
    proposals: Proposals,
    best: int = 3,
    on_progress: ProgressCallback = lambda *_: None,
) -> SearchReport:
    """Run the proposed trials that are not stored yet; test the best ones.

    Parameters
    ----------
    proposals
        ``config.proposals()``, made before the lake is opened, so that an invalid space fails at once.
    best
        Number of trials to test.
    on_progress
        Called with the number of finished trials, the number of all trials, and a text about the best one.

    Raises
    ------
    LakeError
        The data set is missing or too short, or the search of this name has another configuration.
    """
    dataset = Dataset.open(lake, config.dataset)
    n_contests = dataset.contests.num_rows
    n_train = int(np.floor(n_contests * config.train_share))
    skipping = Skipping.of(find_system(config.system))
    history, first_round = load_history(dataset, n_train, skipping)
    draws = _draws_suffix(history)
    record = _Record.open(lake, config, _digest(dataset, n_train) + draws)
    train = history.first(first_round)
    _check_scored(config, train, n_train)
    began = time.perf_counter()
    trials, n_new = _try_all(config, task_pool, proposals, record, train, on_progress)
    seconds = time.perf_counter() - began
    found, digest = [], _digest(dataset, n_contests) + draws
    with open_engine() as engine:
        for trial in _ranked(trials, config.metric)[:best]:
            on_progress(len(trials), proposals.total, "testing the best")
            test = record.tests.get((key := _key(trial.settings)) + digest)
            if test is None:
                try:
                    test = held_out_scores(history, first_round, config.system, trial.settings, engine, config.filter)
                except (ArithmeticError, ValueError):  # the ratings diverged after the training rounds
                    test = {}
                record.save_test(key + digest, test)
            found.append(Found(trial.settings, trial.scores, test))
    return SearchReport(trials, n_new, found, n_train, n_contests, seconds)


def _try_all(
    config: SearchConfig,
    task_pool: TaskPool,
    proposals: Proposals,
    record: _Record,
    train: History,
    on_progress: ProgressCallback,
) -> tuple[list[Trial], int]:
    trials: list[Trial] = []
    n_new = 0
    for batch, first in enumerate(range(0, proposals.total, proposals.batch)):
        asked = proposals.ask(first, min(proposals.batch, proposals.total - first))
        done = {at: record.tried[key] for at, one in enumerate(asked) if (key := _key(one)) in record.tried}
        missing = [at for at in range(len(asked)) if at not in done]
        n_new += len(missing)
        if missing:
            compile_parts([*parts_for(config.system, np.diff(train.rounds.offsets)), SCORES])
            limits = _limits(trials, config.metric) if config.prune else None
            jobs = [(config.system, asked[at], config.metric, config.filter, limits) for at in missing]
            saved = time.monotonic()
            try:
                for at, trial in task_pool.run(run_trial, train, jobs):
                    done[missing[at]] = trial
                    on_progress(
                        len(trials) + len(done), proposals.total, _best_so_far([*trials, *done.values()], config.metric)
                    )
                    if time.monotonic() - saved > _SAVE_SECONDS:
                        saved = time.monotonic()
                        record.save(batch, done)
            finally:  # an interrupted search keeps its finished trials
                record.save(batch, done)
        in_order = [done[at] for at in range(len(asked))]
        trials += in_order
        proposals.tell(in_order)
    return trials, n_new


class _Record:
    """The stored trials of a search."""

    def __init__(self, lake: Lake, name: str, contests: str) -> None:
        self._lake, self._name, self._contests = lake, name, contests
        self.tried: dict[str, Trial] = {}
        self.tests: dict[str, dict[str, float]] = {}

    @classmethod
    def open(cls, lake: Lake, config: SearchConfig, contests: str) -> _Record:
        """Open or create the record of a search; trials on other contests are ignored.

        Raises
        ------
        LakeError
            A search of this name has another configuration.
        DamagedError
            A file of the record cannot be read.
        """
        record = cls(lake, config.name, contests)
        asked = json.loads(json.dumps({**config.identity(), "numerics": NUMERICS}, allow_nan=False))
        path = layout.search_file(config.name)
        try:
            before = record._read(path)
        except MissingError:
            check_folder(lake, path.rpartition("/")[0])
            lake.write_bytes(path, json.dumps(asked, indent=2, allow_nan=False).encode())
            return record
        if before != asked:
            differs = next(key for key in [*asked, *before] if before.get(key) != asked.get(key))
            raise LakeError(
                f"search {config.name} exists with another {differs}; choose another --name or delete {path}",
                path=path,
            )
        for file in lake.list(layout.trials_folder(config.name)):
            if layout.number_of(file, ".json") is not None:
                batch = record._read(f"{layout.trials_folder(config.name)}/{file}")
                for one in batch["trials"] if batch["contests"] == contests else ():
                    scores, rungs = _scores(one["scores"]), tuple(map(_or_nan, one["legs"]))
                    trial = Trial(one["settings"], scores, rungs, one.get("stopped", False), one.get("error", ""))
                    record.tried[_key(trial.settings)] = trial
        if lake.exists(layout.search_tests_file(config.name)):
            tests = record._read(layout.search_tests_file(config.name))
            record.tests = {key: _scores(scores) for key, scores in tests.items()}
        return record

    def save(self, batch: int, done: dict[int, Trial]) -> None:
        """Commit the finished trials of a batch."""
        if done:
            trials = [_trial_json(done[at]) for at in sorted(done)]
            text = json.dumps({"contests": self._contests, "trials": trials}, indent=1, allow_nan=False)
            self._lake.write_bytes(layout.trials_file(self._name, batch), text.encode())

    def save_test(self, key: str, scores: dict[str, float]) -> None:
        """Commit a test's scores."""
        self.tests[key] = scores
        values = {key: {name: _or_none(value) for name, value in scores.items()} for key, scores in self.tests.items()}
        text = json.dumps(values, indent=1, allow_nan=False)
        self._lake.write_bytes(layout.search_tests_file(self._name), text.encode())

    def _read(self, path: str) -> Any:
        data = self._lake.read_bytes(path)
        try:
            return json.loads(data)
        except ValueError as error:
            raise DamagedError(
                f"{path}: not readable ({error}); delete it, and its trials run again", path=path
            ) from None


def _trial_json(trial: Trial) -> dict[str, Any]:
    """A trial as stored in the lake; the field of the rungs is ``legs``."""
    return {
        "settings": trial.settings,
        "scores": {name: _or_none(value) for name, value in trial.scores.items()},
        "legs": [_or_none(value) for value in trial.rungs],
        "stopped": trial.stopped,
        "error": trial.error,
    }


def _or_none(value: float) -> float | None:
    """None for NaN, the score of a group without players."""
    return value if np.isfinite(value) else None


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value


def _scores(read: dict[str, float | None]) -> dict[str, float]:
    return {name: _or_nan(value) for name, value in read.items()}


def _key(settings: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in settings.items())


def _digest(dataset: Dataset, n_contests: int) -> str:
    """Digest of the content of the first contests."""
    return digest_of("".join(dataset.contests.column("content_digest").to_pylist()[:n_contests]).encode())


def _draws_suffix(history: History) -> str:
    """A suffix for histories with contests in which all tie; release 0.1 skipped these contests."""
    return "" if history.rounds.informative.all() else "-draws"


def _check_scored(config: SearchConfig, train: History, n_train: int) -> None:
    one = FILTERS[config.filter]
    if not np.any(train.n_before >= one.least):
        raise LakeError(
            f"the first {config.train_share:g} of data set {config.dataset}, {n_train:,} contests, have no player with "
            f"{one.least} rounds before: nothing to score; use a larger --train-share or another --filter"
        )


def _ranked(trials: Sequence[Trial], metric: str) -> list[Trial]:
    """Complete trials, best first, without repeated settings; equal trials keep their order."""
    distinct: dict[str, Trial] = {}
    for trial in trials:
        if not trial.stopped and not trial.error:
            distinct.setdefault(_key(trial.settings), trial)
    sign = -1.0 if metric in HIGHER_IS_BETTER else 1.0
    return sorted(distinct.values(), key=lambda trial: sign * trial.scores[metric])


def _limits(trials: Sequence[Trial], metric: str) -> tuple[float, ...] | None:
    """The median of the complete trials at each rung; no limit at the last rung."""
    whole = [trial.rungs for trial in trials if not trial.stopped and not trial.error]
    if len(whole) < _SURVIVORS:
        return None
    return (*(statistics.median(rungs[at] for rungs in whole) for at in range(RUNGS - 1)), float("nan"))


def _best_so_far(trials: Sequence[Trial], metric: str) -> str:
    ranked = _ranked(trials, metric)
    return f"best {metric} {ranked[0].scores[metric]:.3f}" if ranked else ""
