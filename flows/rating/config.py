"""The configuration of a run: frozen, checked when it is built, passed down as an argument."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels import SYSTEMS
from ranklake.storage import Dataset, Run
from ranklake.storage.lake.layout import run_file
from ranklake.storage.lake.remedies import damaged

from ..common.configuration.settings import build_params, check_times, find_system, params_to_json, recorded_settings
from ..common.skipping import Skipping
from ..results.level_shifts import STEADY
from ..results.titles import TitlesChoice
from .chain import NUMERICS, config_digest


@dataclass(frozen=True, slots=True)
class RunConfig:
    """One run: a system with its hyperparameters over a data set.

    ``dataset``, ``run``: names in the lake.
    ``system``, ``params``: a key of ``SYSTEMS`` and its hyperparameters.
    ``skip_uninformative``: True skips contests of three or more in which all tie; False skips nothing, not even a
    contest of one participant. None uses the rule in ``run.json``; for a new run, that of the system.
    ``exclude``, ``include``: contests to exclude from now on; excluded contests to include again.
    ``titles``, ``display``: titles for ``run.json``, of which "auto" removes them, and ``deviations`` and ``minimum``
    of the display rating, those of a preset; None keeps them. No rating depends on them.
    ``level``: "steady" or "free", of the display rating; None keeps the choice in ``run.json``.
    ``accept_rounding``: whether stored ratings may differ by rounding from those computed again, because another kind
    of machine rated them. None keeps the rule in ``run.json``; for a new run, and by False, they must be the same to
    the bit.
    ``replace``: rate an existing run of that name again if its configuration differs; otherwise that is an error.
    ``recorded``: the rule of an existing run.
    """

    dataset: str
    run: str
    system: str
    params: Any
    skip_uninformative: bool | None = None
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    titles: TitlesChoice = None
    display: Mapping[str, float] | None = None
    level: str | None = None
    accept_rounding: bool | None = None
    replace: bool = False
    recorded: Skipping | None = None

    @classmethod
    def of(cls, run: Run) -> RunConfig:
        """The configuration in ``run.json``.

        Raises DamagedError: this release cannot rate the configuration.
        """
        try:
            facts = run.config
            system = find_system(facts["system"])
            params = build_params(system, recorded_settings(system, facts["params"]))
            recorded = Skipping.from_json(facts)
            return cls(facts["dataset"], run.name, system.name, params, recorded=recorded)
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(run_file(run.name), f"this release cannot rate its configuration ({error})") from error

    def to_json(self) -> dict[str, Any]:
        """The configuration for ``run.json``, without what no digest depends on: :data:`.chain.BESIDE`."""
        return {
            "dataset": self.dataset,
            "system": self.system,
            "params": params_to_json(self.params),
            **self.skipping.to_json(),
            "numerics": NUMERICS,
        }

    @property
    def skipping(self) -> Skipping:
        """The rule for contests that are skipped because of their places."""
        return self.recorded or Skipping.of(find_system(self.system), self.skip_uninformative)

    def allows(self, rule: Skipping) -> bool:
        """Whether an existing run may keep its rule: none is requested, or the same, or a part of it."""
        requested = self.skip_uninformative
        return requested is None or self.skipping == rule or (requested and rule.two_tied)

    @property
    def digest(self) -> bytes:
        """Digest of all inputs of ratings besides the contests; the data set determines the numbers of players."""
        return config_digest(self.to_json())


def check_dataset_times(dataset: Dataset, kind: type[Any], chosen: Mapping[str, Any]) -> None:
    """Refuse chosen hyperparameters that count days if no contest has a time."""
    if dataset.contests.num_rows and not dataset.contests.column("time_seconds").to_numpy().any():  # 0 is unknown
        remedy = "ingest it with them, or give no such hyperparameter"
        check_times(kind, chosen, f"data set {dataset.name} has no times: {remedy}")


def check_level_times(dataset: Dataset, level: str | None) -> None:
    """Refuse a steady level if no contest has a time: it is measured over twelve months."""
    if level == STEADY and not dataset.contests.column("time_seconds").to_numpy().any():
        raise ValueError(
            f"a steady level is measured over months, and data set {dataset.name} has no times: "
            "ingest it with them, or leave the level free"
        )


def check_periods(config: RunConfig, contests: pa.Table, some_rated: bool) -> None:
    """Refuse periods that a system of rated periods cannot rate: nobody has a rating in the beginning, or two of them
    end on one day, in UTC.
    """
    system = config.system
    if not (some_rated or config.params.mu_init):
        raise ValueError(
            f"{system} rates games against rated players, and no player of data set {config.dataset} has a rating; "
            "record some in a table with the columns handle and rating, by `ranklake attributes`, or let all begin "
            "with one, as with --set mu_init=1500"
        )
    day = contests.column("time_seconds").to_numpy() // 86_400
    same = np.flatnonzero(day[1:] == day[:-1])
    if len(same):
        one, other = contests.column("contest_id").slice(int(same[0]), 2).to_pylist()
        raise ValueError(
            f"{system} rates periods of a day or longer, and the periods {one} and {other} end on one day; ingest the "
            "games with a longer --period into another data set"
        )


def default_run(dataset: str, system: str, settings: Mapping[str, Any], skip_uninformative: bool | None = None) -> str:
    """The default name of a run, the same for the same choices; ``system`` may have a suffix."""
    choices = {key: str(value) for key, value in settings.items()}
    own = SYSTEMS[system].skips_all_tied if system in SYSTEMS else None
    if skip_uninformative is False or (skip_uninformative and not own):
        choices["skip_uninformative"] = str(skip_uninformative).lower()
    if not choices:
        return f"{dataset}-{system}"
    text = json.dumps(choices, sort_keys=True, allow_nan=False)
    return f"{dataset}-{system}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"
