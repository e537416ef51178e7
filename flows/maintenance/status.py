"""The status of a lake: its data sets and runs, their state, writers and size."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pyarrow.compute as pc

from ranklake.storage import Chain, DamagedError, Dataset, FormatError, Lake, LakeError, MissingError, Run
from ranklake.storage.lake import layout
from ranklake.storage.lake.remedies import damaged, remedies_for_sources
from ranklake.storage.leases.holder import lease_holder

from ..common.text import count
from ..results.smoothed import RunSmoothing
from .freshness import Freshness, freshness


@dataclass(frozen=True, slots=True)
class DatasetStatus:
    """The status of one data set; counts are None if it cannot be read, ``problem`` without damage, ``writer`` without
    a lease.
    """

    dataset: str
    state: str
    problem: str | None
    contests: int | None
    participations: int | None
    players: int | None
    last_time_seconds: int | None
    files: int
    size_bytes: int
    writer: str | None
    heartbeat_age_seconds: float | None


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The status of one run; ``rounds`` counts those before the first damaged segment.

    ``stale_from_round`` and ``stale_because`` are the first round that is no longer valid and the reason, and
    ``rounds_to_rate`` counts the rounds that `rate` would rate; None if unknown. ``smoothing`` is "current" if it is of
    all rounds, "stale" if of others, "damaged", or None without one.
    """

    run: str
    dataset: str
    system: str
    state: str
    problem: str | None
    rounds: int | None
    participations: int | None
    last_contest: str | None
    last_time_seconds: int | None
    segments: int | None
    snapshots: int
    size_bytes: int
    writer: str | None
    heartbeat_age_seconds: float | None
    rounds_to_rate: int | None = None
    stale_from_round: int | None = None
    stale_because: str | None = None
    smoothing: str | None = None


@dataclass(frozen=True, slots=True)
class LakeStatus:
    """All data sets and runs, sorted by name."""

    datasets: list[DatasetStatus]
    runs: list[RunStatus]


def status(lake: Lake) -> LakeStatus:
    """The status of a lake. Damage is part of the status of a data set or run, not an error."""
    opened: dict[str, Dataset | LakeError] = {}
    for name in Dataset.names(lake):
        try:
            opened[name] = Dataset.open(lake, name)
        except LakeError as error:
            opened[name] = error
    datasets = [_dataset(lake, name, dataset) for name, dataset in opened.items()]
    for row in datasets:
        if row.problem is not None and isinstance(opened[row.dataset], Dataset):
            opened[row.dataset] = LakeError(row.problem)
    return LakeStatus(datasets, [_run(lake, name, opened) for name in Run.names(lake)])


def _dataset(lake: Lake, name: str, dataset: Dataset | LakeError) -> DatasetStatus:
    folder = layout.dataset_folder(name)
    sizes, writer = lake.sizes_below(folder), _writer(lake, folder)
    size = sum(sizes.values())
    if isinstance(dataset, LakeError):
        return DatasetStatus(name, "damaged", str(dataset), None, None, None, None, 0, size, *writer)
    contests = dataset.contests
    rows = int(pc.sum(contests.column("n_players")).as_py() or 0)
    last = pc.max(contests.column("time_seconds")).as_py()
    files = len(contests.column("file").unique())
    problem = _missing(lake, dataset, {f"{folder}/{path}" for path in sizes})
    state = "sound" if problem is None else "damaged"
    return DatasetStatus(name, state, problem, contests.num_rows, rows, dataset.n_players, last, files, size, *writer)


def _missing(lake: Lake, dataset: Dataset, existing: set[str]) -> str | None:
    """The missing files of a data set, in words; None if all exist. Only `verify` reads their content."""
    missing = sorted(dataset.files() - existing)
    if not missing:
        return None
    damage = "is missing" if len(missing) == 1 else f"is missing, and {count(len(missing) - 1, 'other file')} too"
    return remedies_for_sources(lake, str(damaged(missing[0], damage)), missing[0])


def _run(lake: Lake, name: str, datasets: dict[str, Dataset | LakeError]) -> RunStatus:
    folder = layout.run_folder(name)
    size, writer = lake.size_below(folder), _writer(lake, folder)
    try:
        run = Run.open(lake, name)
        chain = run.segments()
        dataset, system = str(run.config.get("dataset", "")), str(run.config.get("system", ""))
    except LakeError as error:
        return RunStatus(name, "", "", "damaged", str(error), None, None, None, None, None, 0, size, *writer)
    over = datasets.get(dataset)
    fresh: Freshness | None = None
    if chain.rest:
        state = f"damaged from round {chain.stop_round} on"
    elif not isinstance(over, Dataset):
        state = f"no data set {dataset}" if over is None else f"data set {dataset} is damaged"
    else:
        fresh = freshness(run, over, chain)
        state = fresh.state
    last = chain.segments[-1].contest_ids[-1] if chain.segments else None
    rows = sum(segment.n_rows for segment in chain.segments)
    snapshots, time_seconds = len(run.snapshots()), _time_of(over, last)
    counts = (chain.stop_round, rows, last, time_seconds, len(chain.segments), snapshots)
    smoothing = _smoothing(run, chain)
    facts = (None, None, None) if fresh is None else (fresh.to_rate, fresh.stale_from, fresh.why or None)
    stale = (*facts, smoothing)
    return RunStatus(name, dataset, system, state, chain.reason or None, *counts, size, *writer, *stale)


def _smoothing(run: Run, chain: Chain) -> str | None:
    """The state of the smoothing of a run, from its manifest; `verify` reads its rows."""
    try:
        smoothing = RunSmoothing(run, chain)
    except (DamagedError, FormatError):
        return "damaged"
    return "stale" if smoothing.is_stale else "current" if smoothing.exists else None


def _time_of(dataset: Dataset | LakeError | None, contest_id: str | None) -> int | None:
    """The time of a contest, UTC seconds; None if the data set does not have it."""
    if not isinstance(dataset, Dataset) or contest_id is None:
        return None
    place = pc.index(dataset.contests.column("contest_id"), contest_id).as_py()
    return None if place < 0 else int(dataset.contests.column("time_seconds")[place].as_py())


def _writer(lake: Lake, folder: str) -> tuple[str | None, float | None]:
    """The lease holder of a folder, and the age of its last heartbeat in seconds."""
    try:
        by = lease_holder(lake, folder)
    except MissingError:
        by = None
    except LakeError as error:
        return str(error), None
    return (None, None) if by is None else (by.owner, max(time.time() - by.time_seconds, 0.0))
