"""From the lake to runs in memory: leases, the data set, the runs brought up to date, and their beliefs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ranklake.rating_kernels.core.ragged import from_stored
from ranklake.rating_kernels.warm import warm_part
from ranklake.storage import Dataset, Lake, MissingError, Run
from ranklake.storage.datasets.tables.games import GAMES_KIND
from ranklake.storage.leases.lease import Lease

from ..common.adapters import ContestFacts
from ..common.configuration.settings import find_system
from ..compilation.compile import CompileCallback, announce, compile_parts, parts_for
from ..engines.threads import Threads
from ..events.resets import DueReset, due_resets
from ..rating.config import RunConfig
from ..rating.plan import Plan
from ..rating.player_state import newcomers_with_state, with_state
from ..rating.rate import RateOptions, rate_under, truncated_run
from ..results.display import Display
from ..results.places import PlaceOptions
from .matches.beliefs import LiveBeliefs
from .matches.match import MatchLimits
from .matches.rounds import Events


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A run in memory after the last round of its data set.

    ``beliefs``: about all players. ``events``: that the run has counted. ``places``: who has a place.
    ``resets``: of beliefs, that come after the last round, in order.
    """

    config: RunConfig
    beliefs: LiveBeliefs
    events: Events
    places: PlaceOptions
    resets: list[DueReset]


def open_dataset(lake: Lake, name: str, lease: Lease, games: bool) -> Dataset:
    """The data set; if there is none, it is made, without contests: of games, or of contests.

    Raises LakeError: the lake has runs over the data set, but has lost it.
    """
    try:
        return Dataset.open(lake, name)
    except MissingError:
        with Dataset.ingest_under(lake, name, lease, games, create=True):
            pass
        return Dataset.open(lake, name)


def open_run(
    lake: Lake, config: RunConfig, dataset: Dataset, lease: Lease, on_compile: CompileCallback = announce
) -> OpenedRun:
    """Rate what the run lacks, under its lease, and read its beliefs; a new run is made, with its configuration.

    Raises as :func:`ranklake.flows.rating.rate.rate`.
    """
    system = find_system(config.system)
    parts = parts_for(system.name, [2] if dataset.kind == GAMES_KIND else [2, MatchLimits().players])
    compile_parts(parts, on_compile)
    for part in parts:
        warm_part(part)
    if not dataset.contests.num_rows:
        Run.take_over(lake, config.run, lease)
        run = truncated_run(lake, config, Plan.of(config, dataset), lease)
        beliefs = LiveBeliefs(Display.of(run), config.skipping, None, _state_of_newcomers(config, dataset))
        return OpenedRun(config, beliefs, Events(), PlaceOptions.of_run(run), due_resets(dataset))
    with Threads() as engine:
        rate_under(lease, dataset, config, engine, RateOptions(on_compile=on_compile))
    run = Run.open(lake, config.run)
    config = RunConfig.of(run)
    plan = Plan.of(config, dataset)
    columns, _ = run.read_snapshot(plan.n_rounds - 1)
    store = system.newcomers(config.params, 0)
    store.restore(from_stored(columns))
    store.resize(dataset.n_players)
    if plan.state:
        store.restore(with_state(store.columns(), plan.state))
    state_of = _state_of_newcomers(config, dataset)
    beliefs = LiveBeliefs(Display.of(run), config.skipping, store, state_of)
    resets = [reset for reset in plan.resets if reset.round_index >= plan.n_rounds]
    return OpenedRun(config, beliefs, _events(dataset, plan), PlaceOptions.of_run(run), resets)


def _events(dataset: Dataset, plan: Plan) -> Events:
    counts = ~plan.excluded
    contests = dataset.contests
    if dataset.kind == GAMES_KIND:
        return Events(int((contests.column("n_players").to_numpy()[counts] // 2).sum()))
    times = contests.column("time_seconds").to_numpy()[counts]
    facts = ContestFacts.of(contests, counts)
    return Events(int(facts.event[counts][-1]) + 1, int(times[-1])) if len(times) else Events()


def _state_of_newcomers(config: RunConfig, dataset: Dataset) -> Callable[[str], dict[str, float]] | None:
    """The beliefs that attributes give players who have no contest yet; None if none has any."""
    names, state = newcomers_with_state(config.system, dataset, config.params)
    if not state or not len(names):
        return None
    rows = dict(zip(names.to_pylist(), range(len(names)), strict=True))

    def state_of(handle: str) -> dict[str, float]:
        row = rows.get(handle)
        found = {} if row is None else {name: float(values[row]) for name, values in state.items()}
        return {name: value for name, value in found.items() if not np.isnan(value)}

    return state_of
