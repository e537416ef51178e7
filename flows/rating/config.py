"""The configuration of a run: frozen, checked when it is built, passed down as an argument."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels import SYSTEMS, System
from ranklake.storage import Dataset, Run
from ranklake.storage.datasets.tables.games import GAMES_KIND
from ranklake.storage.lake.layout import run_file
from ranklake.storage.lake.remedies import damaged

from ..chances.settings import ChanceSettings
from ..common.adapters import FIRST
from ..common.configuration.settings import (
    build_params,
    check_times,
    check_uncertainty,
    find_system,
    params_to_json,
    recorded_settings,
)
from ..common.skipping import Skipping
from ..common.text import listed, quoted
from ..common.times import spelled
from ..execution.periods import GivenPeriods, Remedies, check_periods
from ..execution.rounds import check_score_rule
from ..results.level_shifts import STEADY
from ..results.places import OF_UNCERTAINTY
from ..results.titles import TitlesChoice
from .chain import NUMERICS, config_digest

_REMEDIES = Remedies(
    "record some in a table with the columns handle and rating, by `ranklake attributes`, or let all begin with one, "
    "as with --set mu_init=1500",
    "ingest the games with a longer --period into another data set",
    "ingest the games without it, by --column advantage= or without --advantage, or choose another system",
)


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
    ``places``: values for :class:`ranklake.flows.results.places.PlaceOptions` in ``run.json``; others are kept.
    ``brand``: choices for :class:`ranklake.flows.common.brand.Brand` in ``run.json``; others are kept.
    ``accept_rounding``: whether stored ratings may differ by rounding from those computed again, because another kind
    of machine rated them. None keeps the rule in ``run.json``; for a new run, and by False, they must be the same to
    the bit.
    ``replace``: rate an existing run of that name again if its configuration differs; otherwise that is an error.
    ``chances``: what the run learns of draws and advantages; None keeps what ``run.json`` has, or the usual settings.
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
    places: Mapping[str, Any] | None = None
    brand: Mapping[str, Any] | None = None
    accept_rounding: bool | None = None
    replace: bool = False
    chances: ChanceSettings | None = None
    recorded: Skipping | None = None

    def __post_init__(self) -> None:
        for name in sorted(set(self.places or ()) & OF_UNCERTAINTY):
            check_uncertainty(find_system(self.system), f"--set-display {name}")

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
            chances = recorded_chances(facts)
            return cls(facts["dataset"], run.name, system.name, params, chances=chances, recorded=recorded)
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
            **self._learnt,
        }

    @property
    def _learnt(self) -> dict[str, Any]:
        """What the run learns, if it rates by it."""
        return {} if self.chances is None or not self.chances.learnt else self.chances.to_json()

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


def recorded_chances(facts: Mapping[str, Any]) -> ChanceSettings | None:
    """What ``run.json`` says of draws and advantages; None if nobody chose anything."""
    found = ChanceSettings.of(facts)
    return found if found.asked else None


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


def check_dataset_periods(config: RunConfig, dataset: Dataset, some_rated: bool) -> None:
    """Refuse periods of a data set that a system of rated periods cannot rate; see :func:`.periods.check_periods`."""
    system, contests = find_system(config.system), dataset.contests
    if not system.periods:
        return
    ends, names = contests.column("time_seconds").to_numpy(), contests.column("contest_id")
    given = GivenPeriods(
        f"data set {dataset.name}", ends, lambda at: str(names[at]), some_rated, _first_ahead(dataset), _REMEDIES
    )
    check_periods(system, config.params.mu_init, given)


def check_dataset_scores(system: System, dataset: Dataset) -> None:
    """Refuse a data set of games with a score that is no win, draw or loss, unless the system rates any score; names
    the first one.
    """
    if system.fractional or dataset.kind != GAMES_KIND:
        return
    for at in np.flatnonzero(dataset.contests.column("fractional").fill_null(False).to_numpy()).tolist():
        for part in dataset.standings(at, at + 1):  # a correction may have removed the game
            assert part.games is not None
            found = np.flatnonzero(part.games.score % 0.5)
            if len(found):
                names = dataset.handles().take(pa.array(part.player[2 * found[0] : 2 * found[0] + 2])).to_pylist()
                score, period = part.games.score[found[0]], dataset.contests.column("contest_id")[at].as_py()
                who, when = " against ".join(map(quoted, names)), spelled(int(part.games.time_seconds[found[0]]))
                where = f"data set {dataset.name}, period {period}: game {found[0] + 1}, of {who} at {when}"
                check_score_rule(system, f"{where}, has the score {score:.15g}")


def covariates_used(params: Any) -> tuple[str, ...]:
    """The covariates of games by which a system explains results; none for most systems."""
    found: tuple[str, ...] = getattr(params, "covariates", ())
    return found


def check_dataset_covariates(params: Any, dataset: Dataset) -> None:
    """Refuse covariates that the games of a data set do not have; the message names them."""
    known = (*dataset.covariates, FIRST) if dataset.kind == GAMES_KIND else ()
    for name in covariates_used(params):
        if name not in known:
            remedy = f"it has {listed(known)}" if known else "it has contests, and no games"
            raise ValueError(
                f"data set {dataset.name} has no covariate {name!r}; {remedy}. "
                f"`ranklake ingest games FILE --covariate NAME --dataset {dataset.name}` keeps further ones"
            )


def _first_ahead(dataset: Dataset) -> int | None:
    """The first period of a data set with an advantage; reads all games."""
    for part in dataset.standings():
        if part.games is not None and part.games.advantage.any():
            row = 2 * int(np.flatnonzero(part.games.advantage)[0])
            return part.first_contest + int(np.searchsorted(part.offsets, row, "right")) - 1
    return None


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
