"""What is in a lake and how it is: data sets, runs, who is writing them, and what they take on disk."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pyarrow.compute as pc

from ranklake.storage import Dataset, Lake, LakeError, MissingError, Run
from ranklake.storage.lake import layout
from ranklake.storage.lake.remedies import damaged, remedies_for_sources
from ranklake.storage.leases.holder import lease_holder

from .freshness import Freshness, freshness

__all__ = ["DatasetStatus", "LakeStatus", "RunStatus", "status"]


@dataclass(frozen=True, slots=True)
class DatasetStatus:
    """One data set; counts are None where it cannot be read.

    ``problem`` tells what is damaged, None if nothing is known to be; ``writer`` is None if nobody is at work.
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
    """One run; ``rounds`` are those that read back, what is behind a damaged segment is not among them.

    ``stale_from_round`` is the first round that no longer holds and ``stale_because`` why, None if all rounds hold;
    ``rounds_to_rate`` counts the rounds that `rate` would rate or rate again. All are None where nothing is known.
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


@dataclass(frozen=True, slots=True)
class LakeStatus:
    """All data sets and runs, sorted by name."""

    datasets: list[DatasetStatus]
    runs: list[RunStatus]


def status(lake: Lake) -> LakeStatus:
    """What is in a lake. What is damaged is told in its state and stops nothing."""
    opened: dict[str, Dataset | LakeError] = {}
    for name in Dataset.names(lake):
        try:
            opened[name] = Dataset.open(lake, name)
        except LakeError as error:
            opened[name] = error
    datasets = [_dataset(lake, name, dataset) for name, dataset in opened.items()]
    for found in datasets:
        if found.problem is not None and isinstance(opened[found.dataset], Dataset):
            opened[found.dataset] = LakeError(found.problem)
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


def _missing(lake: Lake, dataset: Dataset, there: set[str]) -> str | None:
    """Which file of a data set is missing; None if all are there. What is in the files only `verify` reads."""
    gone = sorted(dataset.files() - there)
    if not gone:
        return None
    what = "is missing" if len(gone) == 1 else f"is missing, and {len(gone) - 1:,} more files are"
    return remedies_for_sources(lake, str(damaged(gone[0], what)), gone[0])


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
    found: Freshness | None = None
    if chain.rest:
        state = f"damaged from round {chain.stop_round} on"
    elif not isinstance(over, Dataset):
        state = f"no data set {dataset}" if over is None else f"data set {dataset} is damaged"
    else:
        found = freshness(run, over, chain)
        state = found.state
    last = chain.segments[-1].contest_ids[-1] if chain.segments else None
    rows = sum(segment.n_rows for segment in chain.segments)
    snapshots, time_seconds = len(run.snapshots()), _time_of(over, last)
    told = (chain.stop_round, rows, last, time_seconds, len(chain.segments), snapshots)
    fresh = (None, None, None) if found is None else (found.to_rate, found.stale_from, found.why or None)
    return RunStatus(name, dataset, system, state, chain.reason or None, *told, size, *writer, *fresh)


def _time_of(dataset: Dataset | LakeError | None, contest_id: str | None) -> int | None:
    """When a contest was; None if the data set does not tell."""
    if not isinstance(dataset, Dataset) or contest_id is None:
        return None
    place = pc.index(dataset.contests.column("contest_id"), contest_id).as_py()
    return None if place < 0 else int(dataset.contests.column("time_seconds")[place].as_py())


def _writer(lake: Lake, folder: str) -> tuple[str | None, float | None]:
    """Who is at work in a folder, and how long ago their last heartbeat was, seconds."""
    try:
        by = lease_holder(lake, folder)
    except MissingError:
        by = None
    except LakeError as error:
        return str(error), None
    return (None, None) if by is None else (by.owner, max(time.time() - by.time_seconds, 0.0))
