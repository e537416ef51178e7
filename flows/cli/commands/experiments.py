"""The command that reproduces the papers' experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..terminal.file_options import read_options
from ..terminal.options import LAKE, LakeAddress, usage, wide_option
from ..terminal.output import print_line, print_table, progress

if TYPE_CHECKING:
    from ...sources.options import ReadOptions


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="List the experiments.")
@click.option("--data", "paths", multiple=True, metavar="PATH", help="A history as `ingest files` reads it: folder, "
              "archive or table; its file name names the data set. Repeatable.")  # fmt: skip
@read_options
@click.option("--dataset", "datasets", multiple=True, help="A data set of the lake; repeatable. By default all.")
@click.option("--lake", type=LAKE, envvar="RANKLAKE_LAKE", show_envvar=True, help="Folder or address of the lake.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of all random draws.")
@click.option("--system", "systems", multiple=True, metavar="'NAME KEY=VALUE ...'",
              help="A system to compare, for accuracy and residuals; repeatable.")  # fmt: skip
@click.option("--class", "classes", default="", metavar="REGEX",
              help="The contest class in a contest's name, for residuals.")  # fmt: skip
@wide_option
@click.option("-o", "--output", default="experiments", show_default=True, type=click.Path(file_okay=False),
              metavar="DIR", help="Folder for the report: an HTML page, and its tables as Parquet.")  # fmt: skip
def experiment(
    name: str | None,
    listing: bool,
    paths: tuple[str, ...],
    datasets: tuple[str, ...],
    lake: LakeAddress | None,
    seed: int,
    systems: tuple[str, ...],
    classes: str,
    output: str,
    options: ReadOptions,
) -> None:
    """Reproduce an experiment of the papers, with the printed values; needs the extra `report`.

    Histories come from files (--data), from a lake (--lake, --dataset) or both. Some experiments use a synthetic
    history by default.
    """
    from ...experiments import find_experiment

    if listing:
        with usage():
            if name is not None:
                raise ValueError("--list takes no other arguments")
        _list()
        return
    with usage():
        if name is None:
            raise ValueError("name an experiment; `ranklake experiment --list` lists them")
        find_experiment(name)
        if datasets and lake is None:
            raise ValueError("--dataset needs --lake")
        from ...experiments.run import ExperimentRequest

        files = [Path(path) for path in paths]
        request = ExperimentRequest(name, files, options, datasets, seed, systems, classes)
    opened = None if lake is None else lake.open()
    with usage():
        histories = request.histories(opened)
    with _step_progress(name) as update:
        page, n_tables = request.run(histories, Path(output), update)
    print_line(f"wrote {page} and {n_tables} tables")


def _list() -> None:
    from rich.text import Text

    from ...experiments import EXPERIMENTS, find_experiment
    from ..terminal.tables import TEXT, WHOLE, new_table

    table = new_table({"experiment": WHOLE, "what it shows": TEXT, "source": TEXT, "data": TEXT}, ("source",))
    inputs = {
        "none": "none",
        "optional": "none, or given",
        "instead": "given, else synthetic",
        "beside": "synthetic, and given",
        "given": "given",
    }
    for name in EXPERIMENTS:
        experiment = find_experiment(name)
        table.add_row(name, Text(experiment.title), Text(experiment.source), inputs[experiment.data])
    print_table(table)


@contextmanager
def _step_progress(name: str) -> Iterator[Callable[[str], None]]:
    """A function that shows the current step."""
    steps = 0
    with progress(name, "steps") as update:

        def step(what: str) -> None:
            nonlocal steps
            update(steps, None, what)
            steps += 1

        yield step
