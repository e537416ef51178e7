"""The configuration of a search, and its record in the lake: finished trials, and the tests of the best ones."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import asdict, dataclass
from typing import Any

from ranklake.rating_kernels.core.limits import value_before
from ranklake.rating_kernels.metrics.calibration import CHANCE_METRICS
from ranklake.rating_kernels.metrics.metrics import FILTERS, LAW_METRICS, Filter
from ranklake.rating_kernels.metrics.rank_information import LEAST
from ranklake.storage import DamagedError, Lake, LakeError, MissingError
from ranklake.storage.lake import layout

from ...common.configuration.settings import find_system
from ...common.finite import finite_json
from ...rating.chain import NUMERICS
from ...rating.config import default_run
from .proposals import Proposals, open_proposals
from .trials import Trial

METRICS = ("pair_inversion", "rank_deviation", *LAW_METRICS, *CHANCE_METRICS)


def possible_metrics(filter: Filter, most_players: int = LEAST) -> list[str]:
    """The criteria under a filter, of contests with at most so many of its players."""
    return [
        metric
        for metric in METRICS
        if not (metric == "rank_information" and most_players < LEAST)
        and not (metric in CHANCE_METRICS and (filter.top is not None or most_players < 2))
    ]


def check_choices(metric: str, filter: str, train_share: float, **numbers: int | None) -> None:
    """Raise ``ValueError`` for an unknown criterion, an impossible share, or a number below 1."""
    for name, value, known in (("metric", metric, METRICS), ("filter", filter, tuple(FILTERS))):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    if metric not in (possible := possible_metrics(FILTERS[filter])):
        rule = f"filter {filter} selects by place, after which chances are others"
        raise ValueError(f"{rule}: with it, metric must be one of {', '.join(possible)}, got {metric!r}")
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise ValueError(f"{name} must be >= 1, got {number}")
    if not 0.0 < train_share < 1.0:
        raise ValueError(f"train_share must be between 0 and 1, both excluded, got {train_share}")


@dataclass(frozen=True, slots=True)
class TuningConfig:
    """The configuration of a search.

    ``space``: texts of ``--space``; empty for the system's default space, see :mod:`.published_grids`.
    ``method``: a key of ``proposals.METHODS``.
    ``metric``, ``filter``: metric to optimise, of ``METRICS``, under one of ``FILTERS``.
    ``train_share``: share of the contests for training; the others are for the test.
    ``prune``: stop trials early that are worse than half of the others.
    ``name``: name of the search in the lake; by default made of the other attributes.
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
        check_choices(self.metric, self.filter, self.train_share, trials=self.trials)
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
                    scores, rungs = _scores(one["scores"]), tuple(map(_or_nan, one["legs"]))
                    trial = Trial(one["settings"], scores, rungs, one.get("stopped", False), one.get("error", ""))
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


def settings_key(settings: dict[str, str]) -> str:
    """The name of a trial in the record."""
    return " ".join(f"{name}={value}" for name, value in settings.items())


def _scores(read: dict[str, float | None]) -> dict[str, float]:
    return {name: _or_nan(value) for name, value in read.items()}


def _or_nan(value: float | None) -> float:
    """NaN, the score of a group without players, for the null that is stored."""
    return float("nan") if value is None else value
