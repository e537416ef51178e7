"""Delete runs and data sets, also after an interrupted deletion, each under its lease."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ranklake.storage import Dataset, Lake, LakeError, Run
from ranklake.storage.lake.layout import contests_file, dataset_folder, published_folder, run_file, run_folder
from ranklake.storage.leases.roots import has_root

from ..common.text import byte_size, count
from ..publication.root import delete_published
from .compact import OnWait, hold_for_maintenance


@dataclass(frozen=True)
class Deletion:
    """A deletion before it is done; ``kept`` are the runs whose published tables stay, and ``parts`` texts about the
    files of each run and of the data set, none if there are no files.
    """

    runs: tuple[str, ...]
    dataset: str | None
    with_published: bool
    kept: frozenset[str]
    parts: tuple[str, ...]

    @classmethod
    def of(
        cls, lake: Lake, run: str | None, dataset: str | None, with_runs: bool = False, with_published: bool = False
    ) -> Deletion:
        """The deletion of a run, or of a data set, with the runs over it if ``with_runs``; else ``LakeError`` if there
        are any.
        """
        if dataset is not None and not with_runs:
            check_no_runs(lake, dataset)
        runs = (run,) if run is not None else tuple(Run.names_over_dataset(lake, dataset or ""))
        published = {name: text for name in runs if (text := describe_published(lake, name))}
        parts = [describe_run(lake, name) for name in runs]
        parts += published.values() if with_published else ()
        parts += [] if dataset is None else [describe_dataset(lake, dataset)]
        kept = frozenset() if with_published else frozenset(published)
        return cls(runs, dataset, with_published, kept, tuple(filter(None, parts)))

    def carry_out(self, lake: Lake, *, steal: bool = False, on_wait: OnWait = lambda _: None) -> Iterator[str]:
        """Delete, and yield the name of each deleted run."""
        for name in self.runs:
            delete_run(lake, name, self.with_published, steal=steal, on_wait=on_wait)
            yield name
        if self.dataset is not None:
            delete_dataset(lake, self.dataset, steal=steal, on_wait=on_wait)


def delete_run(
    lake: Lake, name: str, with_published: bool = False, *, steal: bool = False, on_wait: OnWait = lambda _: None
) -> None:
    """Delete a run, and its published tables if ``with_published``."""
    with hold_for_maintenance(lake, run_folder(name), f"delete {name}", steal, on_wait) as lease:
        run = Run(lake, name, {})
        run.lease = lease
        run.delete()
        if with_published:
            delete_published(lake, name, lease)


def delete_dataset(lake: Lake, name: str, *, steal: bool = False, on_wait: OnWait = lambda _: None) -> None:
    """Delete a data set; ``LakeError`` if there are runs over it."""
    with hold_for_maintenance(lake, dataset_folder(name), f"delete {name}", steal, on_wait) as lease:
        check_no_runs(lake, name)  # under the lease: a run may have been made since the last check
        Dataset.delete(lake, name, lease)


def check_no_runs(lake: Lake, dataset: str) -> None:
    """Raise :class:`LakeError` if there are runs over a data set."""
    if runs := Run.names_over_dataset(lake, dataset):
        remedy = f"`ranklake delete --dataset {dataset} --with-runs` deletes them, too"
        raise LakeError(f"data set {dataset} has runs over it: {', '.join(runs)}; {remedy}")


def describe_run(lake: Lake, name: str) -> str:
    """A text about the files that :func:`delete_run` would delete; empty if there are none."""
    size = byte_size(lake.size_below(run_folder(name)))
    if has_root(lake, run_file(name)):
        try:
            return f"run {name}: {count(Run.open(lake, name).segments().stop_round, 'round')}, {size}"
        except LakeError:
            return f"run {name}: {size}, not readable"
    folder = run_folder(name)
    left = any(
        lake.list(f"{folder}/{part}")
        for part in lake.list(folder)
        if part.startswith(("rounds", "snapshots", "smoothing", "entry"))
    )
    return f"remaining files of run {name}: {size}" if left else ""


def describe_published(lake: Lake, run: str) -> str:
    """The published tables of a run, in words; empty if there are none."""
    folder = published_folder(run)
    return f"{folder}: {byte_size(lake.size_below(folder))}" if lake.exists(folder) else ""


def describe_dataset(lake: Lake, name: str) -> str:
    """A text about the files that :func:`delete_dataset` would delete; empty if there are none."""
    size = byte_size(lake.size_below(dataset_folder(name)))
    if has_root(lake, contests_file(name)):
        try:
            return f"data set {name}: {count(Dataset.open(lake, name).contests.num_rows, 'contest')}, {size}"
        except LakeError:
            return f"data set {name}: {size}, not readable"
    left = lake.list(dataset_folder(name, "standings")) or lake.list(dataset_folder(name, "players"))
    return f"remaining files of data set {name}: {size}" if left else ""
