"""The configuration of a search, and its record in the lake: finished trials, and the tests of the best ones."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from ranklake.rating_kernels.core.limits import value_before
from ranklake.storage import DamagedError, Lake, LakeError, MissingError
from ranklake.storage.lake import layout

from ...common.configuration.settings import find_system
from ...common.finite import finite_json
from ...rating.chain import NUMERICS
from ...rating.config import default_run
from .criteria import check_choices, check_filter, default_filter, depends_on_kind
from .folds import check_folds
from .proposals import Proposals, open_proposals
from .trials import DEFAULT_FILTER, Trial, settings_key


@dataclass(frozen=True, slots=True)
class TuningConfig:
    """The configuration of a search.

    ``space``: texts of ``--space``; empty for the system's default space, see :mod:`.published_grids`.
    ``method``: a key of ``proposals.METHODS``.
    ``metric``, ``filter``: metric to optimise, of ``TUNED_METRICS``, under one of ``FILTERS``; an empty filter is that
    of :func:`.criteria.default_filter`, which some metrics have by the kind of the data set: see :meth:`for_kind`.
    ``train_share``: share of the contests for training; the others are for the test, or for the blocks of the folds.
    ``folds``: number of folds; see :mod:`.folds`.
    ``prune``: stop trials early that are worse than half of the others.
    ``name``: name of the search in the lake; by default made of the other attributes.
    """

    dataset: str
    system: str
    space: tuple[str, ...] = ()
    method: str = "grid"
    metric: str = "pair_inversion"
    filter: str = ""
    train_share: float = 0.1
    folds: int = 1
    trials: int | None = None
    seed: int = 0
    prune: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        check_choices(self.metric, self.filter, self.train_share, trials=self.trials, folds=self.folds)
        check_folds(self.method, self.folds)
        if not self.filter and not depends_on_kind(self.metric):
            object.__setattr__(self, "filter", DEFAULT_FILTER)
        if not self.name and self.filter:
            values = {key: value for key, value in self.identity().items() if key not in ("dataset", "system")}
            name = default_run(self.dataset, f"{self.system}-{self.method}", values)
            object.__setattr__(self, "name", name)
        if self.name:
            layout.search_file(self.name)  # raises for a name that is not valid for a folder
        layout.contests_file(self.dataset)

    def for_kind(self, of_games: bool) -> TuningConfig:
        """The configuration with its filter and name; ``ValueError`` if games have no such metric under the filter."""
        filter = self.filter or default_filter(self.metric, of_games)
        check_filter(self.metric, filter, of_games)
        return replace(self, filter=filter)

    def identity(self) -> dict[str, Any]:
        """The configuration without ``trials``, which may grow, ``name``, and a single fold, which was the only one."""
        values = asdict(self)
        left_out = ("name", "trials", *(["folds"] if self.folds == 1 else []))
        return {key: value for key, value in values.items() if key not in left_out}

    def proposals(self) -> Proposals:
        """The proposals; see :func:`.proposals.open_proposals`."""
        return open_proposals(self.method, find_system(self.system), self.space, self.metric, self.seed, self.trials)


class TuningRecord:
    """The stored trials of a search."""

    def __init__(self, lake: Lake, name: str, contests: str) -> None:
        self._lake, self._name, self._contests = lake, name, contests
        self.tried: dict[str, Trial] = {}
        self.tests: dict[str, dict[str, float]] = {}

    @classmethod
    def open(cls, lake: Lake, config: TuningConfig, contests: str) -> TuningRecord:
        """Open or create the record of a search; trials on other contests are ignored.

        Raises LakeError: a search of this name has another configuration.
        Raises DamagedError: a file of the record cannot be read.
        """
        record = cls(lake, config.name, contests)
        known = {**config.identity(), "numerics": NUMERICS, **_other_defaults(config.system)}
        asked = json.loads(json.dumps(known, allow_nan=False))
        path = layout.search_file(config.name)
        try:
            before = record._read(path)
        except MissingError:
            lake.check_new_folder(path.rpartition("/")[0])
            lake.commit_bytes(path, json.dumps(asked, indent=2, allow_nan=False).encode())
            return record
        if before != asked:
            differs = next(key for key in [*asked, *before] if before.get(key) != asked.get(key))
            raise LakeError(
                f"search {config.name} exists with another {differs}; choose another --name or delete {path}", path=path
            )
        for file in lake.list(layout.trials_folder(config.name)):
            if layout.number_of(file, ".json") is not None:
                batch = record._read(f"{layout.trials_folder(config.name)}/{file}")
                for one in batch["trials"] if batch["contests"] == contests else ():
                    rungs, before, within = (
                        tuple(map(_or_nan, one.get(name, ()))) for name in ("legs", "before", "within")
                    )
                    ended = (one.get("stopped", False), one.get("error", ""))
                    trial = Trial(one["settings"], _scores(one["scores"]), rungs, *ended, before, within)
                    record.tried[settings_key(trial.settings)] = trial
        if lake.exists(layout.search_tests_file(config.name)):
            tests = record._read(layout.search_tests_file(config.name))
            record.tests = {key: _scores(scores) for key, scores in tests.items()}
        return record

    def save(self, batch: int, done: dict[int, Trial]) -> None:
        """Commit the finished trials of a batch."""
        if done:
            stored = {"rungs": "legs"}  # the name of the field in the lake
            trials = [{stored.get(key, key): value for key, value in asdict(done[at]).items()} for at in sorted(done)]
            path = f"{layout.trials_folder(self._name)}/{layout.numbered(batch, '.json')}"
            self._commit(path, {"contests": self._contests, "trials": trials})

    def save_test(self, key: str, scores: dict[str, float]) -> None:
        """Commit a test's scores."""
        self.tests[key] = scores
        self._commit(layout.search_tests_file(self._name), self.tests)

    def _commit(self, path: str, document: Any) -> None:
        text = json.dumps(finite_json(document), indent=1, allow_nan=False)
        self._lake.commit_bytes(path, text.encode())

    def _read(self, path: str) -> Any:
        data = self._lake.read_bytes(path)
        try:
            return json.loads(data)
        except ValueError as error:
            raise DamagedError(
                f"{path}: not readable ({error}); delete it, and its trials run again", path=path
            ) from None


def _other_defaults(system: str) -> dict[str, Any]:
    """The hyperparameters whose defaults are not the values of before: trials of older searches have the latter."""
    fields = dataclasses.fields(find_system(system).params)
    return {field.name: field.default for field in fields if value_before(field) != field.default}


def _scores(read: dict[str, float | None]) -> dict[str, float]:
    return {name: _or_nan(value) for name, value in read.items()}


def _or_nan(value: float | None) -> float:
    """NaN, the score of a group without players, for the null that is stored."""
    return float("nan") if value is None else value
