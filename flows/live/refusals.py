"""Runs that no process can rate match by match, refused at its start with the reason."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ranklake.rating_kernels.core.margins import NO_MARGIN
from ranklake.storage import Dataset
from ranklake.storage.datasets.tables.games import GAMES_KIND

from ..chances.settings import ChanceSettings
from ..common.adapters import FIRST
from ..common.configuration.settings import find_system, rates_simultaneously
from ..common.margins import uses_points
from ..rating.config import RunConfig, covariates_used
from .matches.match import MatchLimits, MatchRules


def check_run(config: RunConfig, dataset: Dataset) -> None:
    """Raise ``ValueError`` if a run cannot be rated match by match; names the rule."""
    system, what = find_system(config.system), ""
    settings = config.chances
    if system.all_games is not None:
        what = f"{system.name} explains all games at once, and no game changes a rating alone"
    elif system.periods or rates_simultaneously(config.params):
        what = f"{system.name} rates all games of a period at the same time, when the period has ended"
    elif isinstance(settings, ChanceSettings) and settings.learnt:
        what = "it rates with an advantage that is learnt of all games of the rounds before"
    elif system.name == "elo-srm" and dataset.kind != GAMES_KIND and _has_divisions(dataset):
        what = f"{system.name} begins with an event a match, and contests of data set {dataset.name} are divisions"
    if what:
        raise ValueError(f"run {config.run} cannot be rated match by match: {what}; `ranklake rate` rates it")


def rules_of(configs: Sequence[RunConfig], dataset: Dataset, limits: MatchLimits) -> MatchRules:
    """What matches may have so that all of the runs can rate them."""
    fractional = teams = advantages = whole = ""
    covariates, most = set(dataset.covariates), limits.players
    for config in configs:
        system = find_system(config.system)
        name = f"run {config.run}, of {system.name},"
        if not system.fractional:
            fractional = fractional or f"{name} rates wins, draws and losses only"
        if system.rate_teams is None:
            teams = teams or f"{name} has no rule for teams; a side has one player"
        if system.is_whole is not None and system.is_whole(config.params):
            whole = whole or name.removesuffix(",")
        if system.margins == "pairs" and uses_points(config.params) and config.params.margin != NO_MARGIN:
            most = min(most, system.small)
        if not dataset.contests.num_rows:
            covariates |= set(covariates_used(config.params)) - {FIRST}
    bounds = {name: getattr(limits, name) for name in MatchLimits.__slots__} | {"players": most}
    known = tuple(sorted(covariates)) if dataset.kind == GAMES_KIND else ()
    return MatchRules(dataset.kind, known, fractional, teams, advantages, whole, MatchLimits(**bounds))


def _has_divisions(dataset: Dataset) -> bool:
    times = dataset.contests.column("time_seconds").to_numpy()
    return bool((np.diff(times[times != 0]) == 0).any())
