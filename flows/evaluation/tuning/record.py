"""The record of a search in the lake: its configuration, its finished trials, and the tests of the best ones."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ranklake.storage import DamagedError, Lake, LakeError, MissingError
from ranklake.storage.lake import layout
from ranklake.storage.lake.access.naming import check_folder

from ...rating.chain import NUMERICS
from .config import TuningConfig
from .trials import Trial


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
        asked = json.loads(json.dumps({**config.identity(), "numerics": NUMERICS}, allow_nan=False))
        path = layout.search_file(config.name)
        try:
            before = record._read(path)
        except MissingError:
            check_folder(lake, path.rpartition("/")[0])
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
            trials = [_trial_json(done[at]) for at in sorted(done)]
            text = json.dumps({"contests": self._contests, "trials": trials}, indent=1, allow_nan=False)
            self._lake.commit_bytes(layout.trials_file(self._name, batch), text.encode())

    def save_test(self, key: str, scores: dict[str, float]) -> None:
        """Commit a test's scores."""
        self.tests[key] = scores
        values = {key: {name: _or_none(value) for name, value in scores.items()} for key, scores in self.tests.items()}
        text = json.dumps(values, indent=1, allow_nan=False)
        self._lake.commit_bytes(layout.search_tests_file(self._name), text.encode())

    def _read(self, path: str) -> Any:
        data = self._lake.read_bytes(path)
        try:
            return json.loads(data)
        except ValueError as error:
            raise DamagedError(
                f"{path}: not readable ({error}); delete it, and its trials run again", path=path
            ) from None


def settings_key(settings: dict[str, str]) -> str:
    """The name of a trial in the record."""
    return " ".join(f"{name}={value}" for name, value in settings.items())


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
