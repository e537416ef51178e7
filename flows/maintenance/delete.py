"""Delete runs and data sets, also after an interrupted deletion, each under its lease."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ranklake.storage import Dataset, Lake, LakeError, Run
from ranklake.storage.lake import layout
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
            _check_no_runs(lake, dataset)
        runs = (run,) if run is not None else tuple(Run.names_over_dataset(lake, dataset or ""))
        folders = {name: layout.published_folder(name) for name in runs}
        published = {name: folder for name, folder in folders.items() if lake.exists(folder)}
        parts = [describe_run(lake, name) for name in runs]
        if with_published:
            parts += [f"{folder}: {byte_size(lake.size_below(folder))}" for folder in published.values()]
        parts += [] if dataset is None else [_describe_dataset(lake, dataset)]
        kept = frozenset() if with_published else frozenset(published)
        return cls(runs, dataset, with_published, kept, tuple(filter(None, parts)))

    def carry_out(self, lake: Lake, *, steal: bool = False, on_wait: OnWait = lambda _: None) -> Iterator[str]:
        """Delete, and yield the name of each deleted run."""
        for name in self.runs:
            delete_run(lake, name, self.with_published, steal=steal, on_wait=on_wait)
            yield name
        if self.dataset is not None:
            folder, purpose = layout.dataset_folder(self.dataset), f"delete {self.dataset}"
            with hold_for_maintenance(lake, folder, purpose, steal, on_wait) as lease:
                _check_no_runs(lake, self.dataset)  # under the lease: a run may have been made since the last check
                Dataset.delete(lake, self.dataset, lease)


def delete_run(
    lake: Lake, name: str, with_published: bool = False, *, steal: bool = False, on_wait: OnWait = lambda _: None
) -> None:
    """Delete a run, and its published tables if ``with_published``."""
    with hold_for_maintenance(lake, layout.run_folder(name), f"delete {name}", steal, on_wait) as lease:
        run = Run(lake, name, {})
        run.lease = lease
        run.delete()
        if with_published:
            delete_published(lake, name, lease)


def _check_no_runs(lake: Lake, dataset: str) -> None:
    if runs := Run.names_over_dataset(lake, dataset):
        remedy = f"`ranklake delete --dataset {dataset} --with-runs` deletes them, too"
        raise LakeError(f"data set {dataset} has runs over it: {', '.join(runs)}; {remedy}")


def describe_run(lake: Lake, name: str) -> str:
    """A text about the files that :func:`delete_run` would delete; empty if there are none."""
    folder = layout.run_folder(name)
    parts = ("rounds", "snapshots", "smoothing", "entry")
    left = any(lake.list(f"{folder}/{part}") for part in lake.list(folder) if part.startswith(parts))

    def content() -> str:
        return count(Run.open(lake, name).segments().stop_round, "round")

    return _describe(lake, f"run {name}", folder, has_root(lake, layout.run_file(name)), left, content)


def _describe_dataset(lake: Lake, name: str) -> str:
    left = bool(
        lake.list(layout.dataset_folder(name, "standings")) or lake.list(layout.dataset_folder(name, "players"))
    )

    def content() -> str:
        return count(Dataset.open(lake, name).contests.num_rows, "contest")

    folder, there = layout.dataset_folder(name), has_root(lake, layout.contests_file(name))
    return _describe(lake, f"data set {name}", folder, there, left, content)


def _describe(lake: Lake, what: str, folder: str, there: bool, left: bool, content: Callable[[], str]) -> str:
    """A text about a folder that is ``there``, with its content, or has something left; else empty."""
    size = byte_size(lake.size_below(folder))
    if there:
        try:
            return f"{what}: {content()}, {size}"
        except LakeError:
            return f"{what}: {size}, not readable"
    return f"remaining files of {what}: {size}" if left else ""
