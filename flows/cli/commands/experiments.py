"""The command that reproduces the papers' experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ...common.text import count
from ..terminal.file_options import read_options, table_options
from ..terminal.parameters import LAKE, LakeAddress
from ..terminal.terminal import print_line, print_table, progress, usage, wide_option

if TYPE_CHECKING:
    from pathlib import Path

    from ...experiments.base import Experiment
    from ...experiments.data import History
    from ...sources.options import ReadOptions

__all__ = ["experiment"]

_SYNTHETIC = "paper"  # the preset for experiments without data


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="List the experiments.")
@click.option("--data", "paths", multiple=True, metavar="PATH", help="A history as `ingest files` reads it: folder, "
              "archive or table; its file name names the data set. Repeatable.")  # fmt: skip
@table_options
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
    **choices: Any,
) -> None:
    """Reproduce an experiment of the papers, with the printed values; needs the extra `report`.

    Histories come from files (--data), from a lake (--lake, --dataset) or both. Some experiments use a synthetic
    history by default.
    """
    from pathlib import Path

    from ...common.extras import need
    from ...experiments import find_experiment

    options = read_options(**choices)
    if listing:
        with usage():
            if name is not None:
                raise ValueError("--list takes no other arguments")
        _list()
        return
    with usage():
        if name is None:
            raise ValueError("name an experiment; `ranklake experiment --list` lists them")
        found = find_experiment(name)
        files = [Path(path) for path in paths]
        missing = next((path for path in files if not path.exists()), None)
        if missing is not None:
            raise ValueError(f"--data: there is no {str(missing)!r}")
        if datasets and lake is None:
            raise ValueError("--dataset needs --lake")
        for option, values in (("systems", systems), ("classes", classes)):
            if values and option not in found.takes:
                raise ValueError(f"experiment {name} takes no {'--system' if option == 'systems' else '--class'}")
        if repeated := [one for at, one in enumerate(systems) if one in systems[:at]]:
            raise ValueError(f"--system {repeated[0]!r} is given twice")
        from ...evaluation.residuals import contest_classes
        from ...experiments.published import parse_contender

        compared = [parse_contender(one) for one in systems]
        if classes:
            contest_classes([], classes)  # refuses what is no regular expression
    need("jinja2", "report", "an experiment's report")
    need("matplotlib", "report", "an experiment's report")
    histories = _histories(found, files, datasets, lake, seed, options)
    from ...experiments.base import ExperimentContext
    from ...experiments.render import write_report
    from ...plotting.figures import drawing

    Path(output).mkdir(parents=True, exist_ok=True)  # fails before the work if it cannot be written to
    with drawing("an experiment's report"), _step_progress(name) as update:
        report = found.run(ExperimentContext(histories, seed, update, compared, classes))
    used = (
        "Data: " + "; ".join(f"{one.name}, {count(one.n_contests, 'contest')}" for one in histories)
        if histories
        else ("No data")
    )
    page = write_report(found, report, Path(output), f"{used}; seed {seed}")
    print_line(f"wrote {page} and {len(report.tables)} tables")


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


def _histories(
    experiment: Experiment,
    files: list[Path],
    datasets: tuple[str, ...],
    lake: LakeAddress | None,
    seed: int,
    options: ReadOptions,
) -> list[History]:
    """The histories of an experiment.

    Raises
    ------
    ValueError, LakeError
        A needed history is missing, two have the same name, or one has too few contests.
    """
    from ranklake.storage import Dataset

    from ...experiments.data import from_file, from_lake, name_of, synthetic

    if experiment.data == "none":
        with usage():
            if files or datasets:
                raise ValueError(f"experiment {experiment.name} uses no data: omit --data and --dataset")
        return []
    opened = None if lake is None else lake.open()
    chosen = list(datasets) if datasets or opened is None or files else Dataset.names(opened)
    with usage():
        names = [*map(name_of, files), *chosen]
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise ValueError(f"two data sets are called {twice!r}")
        if not names and experiment.data == "given":
            raise ValueError(
                f"experiment {experiment.name} needs a real history: --data codeforces.tar.xz, or a --lake that has one"
            )
    histories = [from_file(path, options) for path in files]
    if opened is not None:
        histories += [from_lake(opened, name) for name in chosen]
    if experiment.data == "beside" or (experiment.data == "instead" and not histories):
        histories.append(synthetic(_SYNTHETIC, seed))
    with usage():
        for history in histories:
            if len(history.rounds) < experiment.least:
                raise ValueError(
                    f"experiment {experiment.name} needs at least {experiment.least:,} rated contests; "
                    f"data set {history.name} has {len(history.rounds):,}"
                )
            experiment.check(history)
    return histories


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
