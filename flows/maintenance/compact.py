"""Merge small files of data sets and runs into larger ones, each under its lease."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Literal

from ranklake.storage import Dataset, Lake, Run
from ranklake.storage.lake.errors import NoSpaceError
from ranklake.storage.lake.layout import dataset_folder, run_folder
from ranklake.storage.leases.acquire import WAIT_SECONDS, hold_lease
from ranklake.storage.leases.holder import LeaseHolder
from ranklake.storage.leases.lease import Lease
from ranklake.storage.maintenance.compact import ROWS, compact_dataset, compact_run, remove_unusable_snapshots

from ..common.progress import ProgressCallback, not_shown


@dataclass(frozen=True, slots=True)
class Compaction:
    """Number of files of a data set's standings, or of segments of a run, before and after."""

    kind: Literal["data set", "run"]
    name: str
    before: int
    after: int


def compact(
    lake: Lake,
    run: str | None = None,
    dataset: str | None = None,
    rows: int = ROWS,
    *,
    steal: bool = False,
    on_wait: OnWait = lambda _: None,
    on_removed: Callable[[str], None] = lambda _: None,
    on_progress: ProgressCallback = not_shown,
) -> Iterator[Compaction | NoSpaceError]:
    """Compact one run, one data set, or everything in a lake.

    A data set or run that does not fit on the disk is tried a second time, as the other compactions may have freed
    space. An error that remains is yielded. ``rows`` is the number of participations a file; ``on_removed`` is called
    with the path of each snapshot that was removed because it was damaged or did not match the run.
    """

    def shown(what: str) -> Callable[[int, int], None]:
        return lambda done, total: on_progress(done, total, what)

    def merge_dataset(name: str) -> Compaction:
        Dataset.open(lake, name)  # fails before a lease is made for a data set that does not exist
        with hold_for_maintenance(lake, dataset_folder(name), f"compact {name}", steal, on_wait) as lease:
            return Compaction("data set", name, *compact_dataset(lake, name, lease, rows, shown(f"data set {name}")))

    def merge_run(name: str) -> Compaction:
        Run.open(lake, name)
        with hold_for_maintenance(lake, run_folder(name), f"compact {name}", steal, on_wait) as lease:
            Run.take_over(lake, name, lease)
            opened = Run.open(lake, name)
            opened.lease = lease
            for path in remove_unusable_snapshots(opened):
                on_removed(path)
            return Compaction("run", name, *compact_run(opened, rows, shown(f"run {name}")))

    everything = run is None and dataset is None
    tasks = [partial(merge_dataset, name) for name in (Dataset.names(lake) if everything else [dataset]) if name]
    tasks += [partial(merge_run, name) for name in (Run.names(lake) if everything else [run]) if name]
    errors: list[NoSpaceError] = []
    for _ in range(2):
        left, errors = [], []
        for task in tasks:
            try:
                yield task()
            except NoSpaceError as error:
                left.append(task)
                errors.append(error)
        tasks = left
    yield from errors


OnWait = Callable[[LeaseHolder], None]


def hold_for_maintenance(
    lake: Lake, folder: str, purpose: str, steal: bool, on_wait: OnWait
) -> AbstractContextManager[Lease]:
    """Hold the lease of a folder; waits for its holder, and may use the lake's reserve on a full disk."""
    return hold_lease(lake, folder, purpose, steal=steal, wait_seconds=WAIT_SECONDS, on_wait=on_wait, frees_space=True)
