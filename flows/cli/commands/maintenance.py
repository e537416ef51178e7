"""Commands that maintain a lake: list, verify, compact and delete."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from ...common.text import count
from ..terminal.apart import REMEDY, say_apart, strict_option
from ..terminal.options import DATASET, RUN, LakeAddress, format_option, lake_option, steal_option, usage, wide_option
from ..terminal.output import print_line, print_table, print_wait, progress, show_compilation, write_json
from ..terminal.process import without_pandas

if TYPE_CHECKING:
    from ranklake.storage import Lake

    from ...answers.rated_run import RatedRun
    from ...maintenance.status import RunStatus

_MOST_ROWS = 1_000_000  # participations of a run without an index that are read to find its components

some_run_option = click.option("--run", type=RUN, help="Only this run.")
some_dataset_option = click.option("--dataset", type=DATASET, help="Only this data set.")


@click.command()
@some_run_option
@click.option("--components", is_flag=True, help="List the groups of players who met, directly or through others.")
@click.option("--bridges", is_flag=True, help="List the contests that alone join two groups of players.")
@format_option("table", "json")
@strict_option
@wide_option
@lake_option
def runs(run: str | None, components: bool, bridges: bool, form: str, lake: LakeAddress) -> None:
    """List the data sets and runs of a lake: progress, size on disk, and the current writer.

    Ratings of players of different components cannot be compared.
    """
    without_pandas()
    from ...answers.rated_run import RatedRun
    from ...maintenance.freshness import update_command
    from ...maintenance.status import status

    opened = lake.open()
    found = status(opened)
    if run is not None:
        _check_there(opened, run, None)
        chosen = [one for one in found.runs if one.run == run]
        of = {one.dataset for one in chosen}
        found = dataclasses.replace(found, runs=chosen, datasets=[one for one in found.datasets if one.dataset in of])
    if components or bridges:
        rated = [RatedRun(opened, one.run) for one in found.runs if one.participations and not one.problem]
        _show_components(rated, components, bridges, form)
        _say_apart(opened, found.runs, err=True)
        return
    if form == "json":
        write_json(dataclasses.asdict(found), 2)
        _say_apart(opened, found.runs, err=True)
        return
    from ..terminal.show import runs_tables

    datasets, of_runs = runs_tables(found)
    print_table(datasets, "no data sets: `ranklake ingest` makes them")
    print_table(of_runs, "no runs: `ranklake rate` makes them")
    problems = [dataset.problem for dataset in found.datasets] + [run.problem for run in found.runs]
    for problem in filter(None, problems):
        print_line(problem)
    _say_apart(opened, found.runs, err=False)
    for one in found.runs:
        if one.stale_because:
            command = update_command(one.run, one.dataset, lake)
            print_line(f"run {one.run} is {one.state} ({one.stale_because}): `{command}` brings it up to date")


def _say_apart(lake: Lake, runs: Sequence[RunStatus], err: bool) -> None:
    from ranklake.storage import LakeError

    from ...answers.rated_run import RatedRun

    for run in runs:
        if run.participations and not run.problem:
            with suppress(LakeError):
                say_apart(RatedRun(lake, run.run).components_line(None, REMEDY, _MOST_ROWS), run.run, err)


def _show_components(rated: Sequence[RatedRun], components: bool, bridges: bool, form: str) -> None:
    from ...answers.components import bridge_rows, component_rows
    from ..terminal.show_components import bridges_table, components_table

    listed = [component_rows(one) for one in rated] if components else []
    joining = [bridge_rows(one) for one in rated] if bridges else []
    if form == "json":
        found = {"components": listed} if components else {}
        found |= {"bridges": joining} if bridges else {}
        write_json({name: [row for one in tables for row in one.to_pylist()] for name, tables in found.items()}, 2)
        return
    for table in listed:
        print_table(components_table(table))
    for one, table in zip(rated, joining, strict=bridges):
        print_table(bridges_table(table), f"run {one.name}: no contest alone joins two groups of players")
    if not rated:
        print_line("no rated runs: `ranklake rate` makes them")


@click.command()
@some_run_option
@some_dataset_option
@click.option("--replay", metavar="A:B", help="Also compute rounds A to B of the run again, and compare the bits.")
@lake_option
def verify(run: str | None, dataset: str | None, replay: str | None, lake: LakeAddress) -> None:
    """Check the data sets, runs and published tables of a lake; report each problem in one line, with its remedy.

    The exit code is 1 if there is a problem. Published tables that are older than the run are noted.
    """
    from ranklake.storage import Run

    from ...engines.factory import open_engine
    from ...maintenance.verify import Verifier
    from ...maintenance.verify import replay as compute_again

    with usage():
        _check_one(run, dataset)
        first, last = _parse_rounds(run, replay) if replay is not None else (0, None)
    opened = lake.open()
    _check_there(opened, run, dataset)
    with progress("verifying", "files") as update:
        verifier = Verifier(opened, update)
        n_problems = _print_each(
            verifier.run(run) if run is not None
            else verifier.dataset(dataset) if dataset is not None
            else verifier.everything()
        )  # fmt: skip
    again = ""
    if run is not None and replay is not None and n_problems == 0:
        stop = Run.open(verifier.lake, run).segments().stop_round
        last = stop - 1 if last is None else last
        with usage():
            if not first <= last < stop:
                raise ValueError(f"run {run} has rounds 0 to {stop - 1}, got --replay {replay}")
        expected: list[str] = []
        with open_engine() as engine, progress("rating again", "rounds") as update:
            shown: dict[str, Any] = {"on_progress": update, "on_compile": show_compilation(update)}
            n_problems = _print_each(compute_again(opened, run, first, last, engine, expected, **shown))
        verifier.notes += expected
        differ = "differ by rounding alone" if expected else "have the same bits"
        again = f"; rounds {first} to {last}, computed again, {differ}"
    for note in verifier.notes:
        print_line(f"note: {note}", err=True)
    if n_problems:
        print_line(f"{count(n_problems, 'problem')} in {verifier.line()}", err=True)
        sys.exit(1)
    print_line(f"no problems: {verifier.line()}{again}")


@click.command()
@some_run_option
@some_dataset_option
@click.option("--rows", type=click.IntRange(min=1), default=200_000, show_default=True, help="Participations a file.")
@steal_option
@lake_option
def compact(run: str | None, dataset: str | None, rows: int, steal: bool, lake: LakeAddress) -> None:
    """Merge small files into larger ones; readers can continue.

    The merged files stay until the next commit, for processes that still read them. Damaged and unused snapshots are
    removed.
    """
    from ...maintenance.compact import Compaction
    from ...maintenance.compact import compact as compact_lake

    with usage():
        _check_one(run, dataset)

    def on_removed(path: str) -> None:
        print_line(f"{path}: damaged or of other rounds, removed", err=True)

    errors, n_done = [], 0
    how: dict[str, Any] = {"steal": steal, "on_wait": print_wait, "on_removed": on_removed}
    with progress("compacting", "merged files") as update:
        for result in compact_lake(lake.open(), run, dataset, rows, on_progress=update, **how):
            n_done += 1
            if isinstance(result, Compaction):
                files = "standings files" if result.kind == "data set" else "segments"
                print_line(f"{result.kind} {result.name}: {files}: {result.before:,} before, now {result.after:,}")
            else:
                errors.append(result)
    if not n_done:
        print_line(f"{lake} has no data set and no run; nothing to merge")
    for error in errors[:-1]:
        print_line(f"Error: {error}", err=True)
    if errors:
        raise errors[-1]


@click.command()
@click.option("--run", type=RUN, help="The run to delete.")
@click.option("--dataset", type=DATASET, help="The data set to delete.")
@click.option("--with-runs", is_flag=True, help="Also delete the runs over the data set.")
@click.option("--with-published", is_flag=True, help="Also delete the published tables of the runs.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@steal_option
@lake_option
def delete(
    run: str | None,
    dataset: str | None,
    with_runs: bool,
    with_published: bool,
    yes: bool,
    steal: bool,
    lake: LakeAddress,
) -> None:
    """Delete a run or a data set, or the rest of an interrupted deletion."""
    from ranklake.storage import LakeError

    from ...maintenance.delete import Deletion

    with usage():
        _check_one(run, dataset)
        if run is None and dataset is None:
            raise ValueError("give --run or --dataset")
        if run is not None and with_runs:
            raise ValueError("--with-runs needs --dataset")
    opened = lake.open()
    deletion = Deletion.of(opened, run, dataset, with_runs, with_published)
    if not deletion.parts:
        what = f"run {run!r}" if run is not None else f"data set {dataset!r}"
        raise LakeError(f"no {what} in {lake}, and no rest of a deletion; `ranklake runs` lists data sets and runs")
    _confirm(deletion.parts, yes)
    for name in deletion.carry_out(opened, steal=steal, on_wait=print_wait):
        print_line(f"run {name}: deleted")
        if name in deletion.kept:
            print_line(f"published/{name} stays; `ranklake delete --run {name} --with-published` deletes it", err=True)
    if dataset is not None:
        print_line(f"data set {dataset}: deleted")


def _print_each(problems: Iterator[str]) -> int:
    n_problems = 0
    for problem in problems:
        print_line(problem)
        n_problems += 1
    return n_problems


def _check_one(run: str | None, dataset: str | None) -> None:
    if run is not None and dataset is not None:
        raise ValueError("give --run or --dataset, not both")


def _check_there(lake: Lake, run: str | None, dataset: str | None) -> None:
    """Raise for a run or data set that does not exist. Damage is found later."""
    from ranklake.storage import Dataset, LakeError, MissingError, Run

    try:
        if run is not None:
            Run.open(lake, run)
        elif dataset is not None:
            Dataset.open(lake, dataset)
    except MissingError:
        raise
    except LakeError:
        return


def _parse_rounds(run: str | None, text: str) -> tuple[int, int | None]:
    """First and last round of ``A:B``; both ends are optional."""
    found = re.fullmatch("([0-9]*):([0-9]*)", text)
    if run is None:
        raise ValueError("--replay needs --run")
    if found is None:
        raise ValueError(f"--replay takes rounds A:B, as 400:500, 400: or :, got {text!r}")
    return int(found[1] or 0), int(found[2]) if found[2] else None


def _confirm(to_delete: Sequence[str], yes: bool) -> None:
    from ranklake.storage import LakeError

    for part in to_delete:
        print_line(part, err=True)
    if yes:
        return
    try:
        sure = click.confirm("Delete these permanently?", err=True)
    except click.Abort:
        print_line("", err=True)  # ends the line of the question
        remedy = "Use --yes to skip the question"
        raise LakeError(f"cannot ask for confirmation without a terminal; nothing was deleted. {remedy}") from None
    if not sure:
        raise LakeError("nothing was deleted")
