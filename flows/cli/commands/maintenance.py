"""Commands that keep a lake: what is in it, whether it is sound, fewer and larger files, and what is to go."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from ...common.text import count
from ..terminal.terminal import lake_option, print_table, say, steal_option, tell_wait, usage, wide_option, write_json

if TYPE_CHECKING:
    from ranklake.storage import Lake
    from ranklake.storage.leases.lease import Lease

    from ...maintenance.verify import Verifier

__all__ = ["compact", "delete", "runs", "verify"]

LEASE_TIMEOUT_SECONDS = 600.0

some_run_option = click.option("--run", help="Only this run.")
some_dataset_option = click.option("--dataset", help="Only this data set.")


@click.command()
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@wide_option
@lake_option
def runs(form: str, lake: str) -> None:
    """The data sets and runs of a lake: how far each has come, what it takes on disk, and who is writing it."""
    from ranklake.storage import Lake

    from ...maintenance.freshness import update_command
    from ...maintenance.status import status

    found = status(Lake.open(lake))
    if form == "json":
        write_json(dataclasses.asdict(found), 2)
        return
    from ..terminal.show import runs_tables

    for table in runs_tables(found):
        print_table(table)
    problems = [dataset.problem for dataset in found.datasets] + [run.problem for run in found.runs]
    for problem in filter(None, problems):
        say(problem)
    for run in found.runs:
        if run.stale_because:
            command = update_command(run.run, run.dataset, lake)
            say(f"run {run.run} is {run.state} ({run.stale_because}): `{command}` brings it up to date")


@click.command()
@some_run_option
@some_dataset_option
@click.option("--replay", metavar="A:B", help="Also compute rounds A to B of the run again, and compare to the bit.")
@lake_option
def verify(run: str | None, dataset: str | None, replay: str | None, lake: str) -> None:
    """Read everything and say what is not as it must be, one line each, with what mends it.

    Exits with 1 if there is any. Published tables are checked, too; that they are behind the run is a note.
    """
    from ranklake.storage import Lake, Run

    from ...engines.factory import open_engine
    from ...maintenance.verify import Verifier
    from ...maintenance.verify import replay as compute_again

    with usage():
        _check_one(run, dataset)
        first, last = _parse_rounds(run, replay) if replay is not None else (0, None)
    verifier = Verifier(Lake.open(lake))
    n_problems = _tell_each(_problems(verifier, run, dataset))
    again = ""
    if run is not None and replay is not None and n_problems == 0:
        stop = Run.open(verifier.lake, run).segments().stop_round
        last = stop - 1 if last is None else last
        with usage():
            if not first <= last < stop:
                raise ValueError(f"run {run} has rounds 0 to {stop - 1}, got --replay {replay}")
        with open_engine() as engine:
            n_problems = _tell_each(compute_again(verifier.lake, run, first, last, engine))
        again = f"; rounds {first} to {last}, computed again, are the same to the bit"
    for note in verifier.notes:
        say(f"note: {note}", err=True)
    if n_problems:
        say(f"{count(n_problems, 'problem')} in {verifier.line()}", err=True)
        sys.exit(1)
    say(f"all is well: {verifier.line()}{again}")


@click.command()
@some_run_option
@some_dataset_option
@click.option("--rows", type=click.IntRange(min=1), default=200_000, show_default=True, help="Participations a file.")
@steal_option
@lake_option
def compact(run: str | None, dataset: str | None, rows: int, steal: bool, lake: str) -> None:
    """Merge small files into larger ones; who reads meanwhile reads the same.

    Files that were merged stay until the next commit, for those who are reading them. Snapshots that are damaged or of
    no more use are removed.
    """
    from ranklake.storage import Dataset, Lake, Run
    from ranklake.storage.lake.layout import dataset_folder, run_folder
    from ranklake.storage.maintenance.compact import compact_dataset, compact_run, remove_unusable_snapshots

    with usage():
        _check_one(run, dataset)
    opened = Lake.open(lake)
    everything = run is None and dataset is None

    def merge_dataset(name: str) -> None:
        Dataset.open(opened, name)  # what is not there gets no lease
        with _holding(opened, dataset_folder(name), f"compact {name}", steal) as lease:
            before, after = compact_dataset(opened, name, lease, rows)
        say(f"data set {name}: standings files: {before:,} before, now {after:,}")

    def merge_run(name: str) -> None:
        Run.open(opened, name)
        with _holding(opened, run_folder(name), f"compact {name}", steal) as lease:
            Run.take_over(opened, name, lease)
            found = Run.open(opened, name)
            found.lease = lease
            for path in remove_unusable_snapshots(found):
                say(f"{path}: damaged or of other rounds, removed", err=True)
            before, after = compact_run(found, rows)
        say(f"run {name}: segments: {before:,} before, now {after:,}")

    tasks = [partial(merge_dataset, name) for name in (Dataset.names(opened) if everything else [dataset]) if name]
    tasks += [partial(merge_run, name) for name in (Run.names(opened) if everything else [run]) if name]
    _do_what_fits(tasks)


@click.command()
@click.option("--run", help="The run to delete.")
@click.option("--dataset", help="The data set to delete.")
@click.option("--with-runs", is_flag=True, help="Also delete the runs over the data set.")
@click.option("--with-published", is_flag=True, help="Also delete what was published of the runs.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@steal_option
@lake_option
def delete(
    run: str | None, dataset: str | None, with_runs: bool, with_published: bool, yes: bool, steal: bool, lake: str
) -> None:
    """Delete a run or a data set, or what is left of one that was half deleted."""
    from ranklake.storage import Dataset, Lake, LakeError, Run
    from ranklake.storage.lake.layout import dataset_folder, published_folder, run_folder

    from ...publication.files import delete_published

    with usage():
        _check_one(run, dataset)
        if run is None and dataset is None:
            raise ValueError("name what is to be deleted with --run or --dataset")
        if run is not None and with_runs:
            raise ValueError("--with-runs goes with --dataset")
    opened = Lake.open(lake)
    over = [run] if run is not None else Run.names_over_dataset(opened, dataset or "")
    if run is None and not with_runs:
        _refuse_with_runs(dataset, over)
    published = [name for name in over if opened.exists(published_folder(name))]
    parts = [_run_told(opened, name) for name in over]
    if with_published:
        parts += [f"published/{name}: {_size_of(opened, published_folder(name))}" for name in published]
    parts.append(_dataset_told(opened, dataset))
    to_delete = [part for part in parts if part]
    if not to_delete:
        what = f"run {run!r}" if run is not None else f"data set {dataset!r}"
        raise LakeError(f"no {what} in {lake}, nor anything left of one; `ranklake runs` lists what there is")
    _confirm(to_delete, yes)
    for name in over:
        with _holding(opened, run_folder(name), f"delete {name}", steal) as lease:
            found = Run(opened, name, {})
            found.lease = lease
            found.delete()
            if with_published:
                delete_published(opened, name, lease)
        say(f"run {name}: deleted")
        if name in published and not with_published:
            say(f"published/{name} stays; `ranklake delete --run {name} --with-published` deletes it", err=True)
    if dataset is not None:
        with _holding(opened, dataset_folder(dataset), f"delete {dataset}", steal) as lease:
            _refuse_with_runs(dataset, Run.names_over_dataset(opened, dataset))  # one may have been made meanwhile
            Dataset.delete(opened, dataset, lease)
        say(f"data set {dataset}: deleted")


def _tell_each(problems: Iterator[str]) -> int:
    n_problems = 0
    for problem in problems:
        say(problem)
        n_problems += 1
    return n_problems


def _do_what_fits(tasks: Sequence[Callable[[], None]]) -> None:
    """Do what the disk has space for; once more what it had none for, as the other tasks may have freed some."""
    from ranklake.storage.lake.errors import NoSpaceError

    short: list[NoSpaceError] = []
    for _ in range(2):
        left, short = [], []
        for task in tasks:
            try:
                task()
            except NoSpaceError as error:
                left.append(task)
                short.append(error)
        if not left:
            return
        tasks = left
    for other in short[:-1]:
        say(f"Error: {other}", err=True)
    raise short[-1]


def _check_one(run: str | None, dataset: str | None) -> None:
    """A run or a data set, with a name that a folder can have."""
    from ranklake.storage.lake.layout import check_dataset_name, check_run_name

    if run is not None and dataset is not None:
        raise ValueError("give --run or --dataset, not both")
    if run is not None:
        check_run_name(run)
    if dataset is not None:
        check_dataset_name(dataset)


def _parse_rounds(run: str | None, text: str) -> tuple[int, int | None]:
    """First and last round of ``A:B``; either end may be left out."""
    found = re.fullmatch("([0-9]*):([0-9]*)", text)
    if run is None:
        raise ValueError("--replay needs --run")
    if found is None:
        raise ValueError(f"--replay takes rounds A:B, as 400:500, 400: or :, got {text!r}")
    return int(found[1] or 0), int(found[2]) if found[2] else None


def _problems(verifier: Verifier, run: str | None, dataset: str | None) -> Iterator[str]:
    if run is not None:
        return verifier.run(run)
    if dataset is not None:
        return verifier.dataset(dataset)
    return verifier.everything()


@contextmanager
def _holding(lake: Lake, folder: str, purpose: str, steal: bool) -> Iterator[Lease]:
    from ranklake.storage.leases.acquire import hold_lease

    with hold_lease(
        lake,
        folder,
        purpose,
        steal=steal,
        wait_seconds=LEASE_TIMEOUT_SECONDS,
        on_wait=tell_wait,
        frees_space=True,
    ) as lease:
        yield lease


def _run_told(lake: Lake, name: str) -> str:
    """What deleting a run deletes; empty if there is nothing of it."""
    from ranklake.storage import LakeError, Run
    from ranklake.storage.lake.layout import run_file, run_folder
    from ranklake.storage.leases.roots import has_root

    size = _size_of(lake, run_folder(name))
    if has_root(lake, run_file(name)):
        try:
            return f"run {name}: {Run.open(lake, name).segments().stop_round:,} rounds, {size}"
        except LakeError:
            return f"run {name}: {size}, not readable"
    folder = run_folder(name)
    left = any(lake.list(f"{folder}/{part}") for part in lake.list(folder) if part.startswith(("rounds", "snapshots")))
    return f"what is left of run {name}: {size}" if left else ""


def _dataset_told(lake: Lake, name: str | None) -> str:
    """What deleting a data set deletes; empty if there is nothing of it."""
    from ranklake.storage import Dataset, LakeError
    from ranklake.storage.lake.layout import contests_file, dataset_folder, players_folder, standings_folder
    from ranklake.storage.leases.roots import has_root

    if name is None:
        return ""
    size = _size_of(lake, dataset_folder(name))
    if has_root(lake, contests_file(name)):
        try:
            return f"data set {name}: {Dataset.open(lake, name).contests.num_rows:,} contests, {size}"
        except LakeError:
            return f"data set {name}: {size}, not readable"
    left = lake.list(standings_folder(name)) or lake.list(players_folder(name))
    return f"what is left of data set {name}: {size}" if left else ""


def _refuse_with_runs(dataset: str | None, over: list[str]) -> None:
    from ranklake.storage import LakeError

    if over:
        remedy = f"`ranklake delete --dataset {dataset} --with-runs` deletes them, too"
        raise LakeError(f"data set {dataset} has runs over it: {', '.join(over)}; {remedy}")


def _size_of(lake: Lake, folder: str) -> str:
    from ..terminal.show import size

    return size(lake.size_below(folder))


def _confirm(to_delete: list[str], yes: bool) -> None:
    from ranklake.storage import LakeError

    for part in to_delete:
        say(part, err=True)
    if yes:
        return
    try:
        sure = click.confirm("Delete this for good?", err=True)
    except click.Abort:
        raise LakeError("nobody was there to confirm it, nothing was deleted; --yes does not ask") from None
    if not sure:
        raise LakeError("nothing was deleted")
