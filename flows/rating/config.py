"""The configuration of a run: frozen, checked when it is built, passed down as an argument."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ranklake.rating_kernels import SYSTEMS
from ranklake.storage import Run
from ranklake.storage.lake.layout import run_file
from ranklake.storage.lake.remedies import damaged

from ..common.settings import build_params, find_system
from ..common.skipping import Skipping
from ..common.titles import TitlesChoice
from .chain import NUMERICS, config_digest

__all__ = ["RunConfig", "default_run"]


@dataclass(frozen=True, slots=True)
class RunConfig:
    """One run: a system with its hyperparameters over a data set.

    Attributes
    ----------
    dataset, run : str
        Names in the lake.
    system : str
        A key of ``SYSTEMS``.
    params : object
        The system's hyperparameters.
    skip_uninformative : bool or None
        Whether contests of three or more in which all tie are passed over, or (False) nothing is, a contest of one
        participant included. None is what the run records already, and for a new run the system's own rule.
    exclude, include : tuple of str
        Contests that the run is to pass over from now on; those it is to rate again. Others stay as the run has them.
    titles : Titles, "auto" or None
        Titles to record in ``run.json``; "auto" removes the record, None leaves it. No rating depends on them.
    replace : bool
        A run of that name which computes something else is rated anew; otherwise that is refused.
    recorded : Skipping or None
        The rule of an existing run, where it goes on as it is.
    """

    dataset: str
    run: str
    system: str
    params: Any
    skip_uninformative: bool | None = None
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    titles: TitlesChoice = None
    replace: bool = False
    recorded: Skipping | None = None

    @classmethod
    def of(cls, run: Run) -> RunConfig:
        """What a run computes, as its ``run.json`` says.

        Raises
        ------
        DamagedError
            It does not say what this release can compute.
        """
        try:
            facts = run.config
            system = find_system(facts["system"])
            params = build_params(system, facts["params"])
            recorded = Skipping.from_json(facts)
            return cls(facts["dataset"], run.name, system.name, params, recorded=recorded)
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(run_file(run.name), f"not what this release can rate ({error})") from error

    def to_json(self) -> dict[str, Any]:
        """What ``run.json`` says of the computation; beside it stand the contests it excludes and the titles."""
        return {
            "dataset": self.dataset,
            "system": self.system,
            "params": _params_to_json(self.params),
            **self.skipping.to_json(),
            "numerics": NUMERICS,
        }

    @property
    def skipping(self) -> Skipping:
        """Which contests are passed over because of their places."""
        return self.recorded or Skipping.of(find_system(self.system), self.skip_uninformative)

    def allows(self, rule: Skipping) -> bool:
        """Whether the rule of an existing run may stay: nothing else is asked for, or nothing that it does not skip."""
        asked = self.skip_uninformative
        return asked is None or self.skipping == rule or (asked and rule.two_tied)

    @property
    def digest(self) -> bytes:
        """Of all that rows depend on beside the contests, the data set that numbers the players included."""
        return config_digest(self.to_json())


def default_run(dataset: str, system: str, settings: Mapping[str, Any], skip_uninformative: bool | None = None) -> str:
    """A run's name when none is given: the same for the same choices; ``system`` may have more words after its name."""
    told = {key: str(value) for key, value in settings.items()}
    own = SYSTEMS[system].skips_all_tied if system in SYSTEMS else None
    if skip_uninformative is False or (skip_uninformative and not own):
        told["skip_uninformative"] = str(skip_uninformative).lower()
    if not told:
        return f"{dataset}-{system}"
    text = json.dumps(told, sort_keys=True, allow_nan=False)
    return f"{dataset}-{system}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"


def _params_to_json(params: Any) -> dict[str, Any]:
    """Hyperparameters as JSON can hold them: infinity is "inf", a tuple a list."""
    return {
        key: "inf" if value == math.inf else list(value) if isinstance(value, tuple) else value
        for key, value in dataclasses.asdict(params).items()
    }
