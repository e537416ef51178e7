"""Run an experiment on chosen histories, and write its report: one self-contained page, and its tables as Parquet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow.parquet as pq

from ranklake.storage import Dataset, Lake

from ..common.extras import need
from ..common.text import count
from ..evaluation.residuals import contest_classes
from ..plotting.figures import drawing
from ..sources.options import ReadOptions
from . import find_experiment
from .base import Experiment, ExperimentContext, Heading, Report, Table
from .data import History, data_files, from_file, from_lake, name_of
from .page import to_page
from .published import Contender, parse_contender


@dataclass(frozen=True)
class ExperimentRequest:
    """An experiment with the histories and settings that it is run on; checked when it is made.

    ``name``: a key of :data:`ranklake.flows.experiments.EXPERIMENTS`.
    ``files``, ``options``: histories in files, and how they are read.
    ``datasets``: names of data sets of a lake; by default all, if there are no files.
    ``seed``: of all random draws.
    ``systems``, ``classes``: systems to compare, as text; a regular expression of contest classes.
    Raises ValueError: there is no such experiment or file, or the experiment does not take a setting.
    """

    name: str
    files: Sequence[Path] = ()
    options: ReadOptions = field(default_factory=ReadOptions)
    datasets: Sequence[str] = ()
    seed: int = 0
    systems: Sequence[str] = ()
    classes: str = ""

    def __post_init__(self) -> None:
        takes = self.experiment.takes
        missing = next((path for path in self.files if not path.exists()), None)
        if missing is not None:
            raise ValueError(f"--data: there is no {str(missing)!r}")
        if self.systems and "systems" not in takes:
            raise ValueError(f"experiment {self.name} takes no --system")
        if self.classes and "classes" not in takes:
            raise ValueError(f"experiment {self.name} takes no --class")
        if repeated := [one for at, one in enumerate(self.systems) if one in self.systems[:at]]:
            raise ValueError(f"--system {repeated[0]!r} is given twice")
        self.contenders()
        if self.classes:
            contest_classes([], self.classes)  # refuses what is no regular expression
        if self.experiment.data == "none" and (self.files or self.datasets):
            raise ValueError(f"experiment {self.name} uses no data: omit --data and --dataset")

    @property
    def experiment(self) -> Experiment:
        return find_experiment(self.name)

    def contenders(self) -> list[Contender]:
        """The systems to compare."""
        return [parse_contender(one) for one in self.systems]

    def histories(self, lake: Lake | None) -> list[History]:
        """The histories that the experiment needs.

        Raises ValueError: a needed history is missing, two have the same name, or one is unsuitable.
        Raises SourceError, LakeError: a history cannot be read.
        Raises MissingExtraError: a package for reports is not installed.
        """
        for package in ("jinja2", "matplotlib"):  # before the work
            need(package, "report", "an experiment's report")
        experiment = self.experiment
        if experiment.data == "none":
            return []
        files = [one for path in self.files for one in data_files(path)]
        chosen = list(self.datasets) if self.datasets or lake is None or self.files else Dataset.names(lake)
        names = [*map(name_of, files), *chosen]
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise ValueError(f"two data sets are called {twice!r}")
        if not names and experiment.data == "given":
            rule = "needs a real history: --data codeforces.tar.xz, or a --lake that has one"
            raise ValueError(f"experiment {self.name} {rule}")
        found = [from_file(path, self.options) for path in files]
        if lake is not None:
            found += [from_lake(lake, name) for name in chosen]
        for history in (found := experiment.with_synthetic(found, self.seed)):
            if refusal := experiment.refusal(history):
                raise ValueError(refusal)
        return found

    def run(self, histories: Sequence[History], folder: Path, on_step: Callable[[str], None]) -> tuple[Path, int]:
        """Run the experiment and write its report; returns the path of its page and the number of its tables."""
        folder.mkdir(parents=True, exist_ok=True)  # fails before the work if it cannot be written to
        context = ExperimentContext(histories, self.seed, on_step, self.contenders(), self.classes)
        with drawing("an experiment's report"):
            report = self.experiment.run(context)
        used = "; ".join(f"{one.name}, {count(one.n_contests, 'contest')}" for one in histories)
        data = f"{f'Data: {used}' if used else 'No data'}; seed {self.seed}"
        return write_report(self.experiment, report, folder, data), len(report.tables)


def write_report(experiment: Experiment, report: Report, folder: Path, data: str) -> Path:
    """Write ``<name>.html``, and each table as ``<name>-<table>.parquet``; return the path of the page.

    ``data``: description of the input, for the page.
    """
    page = to_html(experiment, report, data)
    folder.mkdir(parents=True, exist_ok=True)
    for table in report.tables.values():
        pq.write_table(table.to_arrow(), folder / _file(experiment, table))
    path = folder / f"{experiment.name}.html"
    path.write_text(page, encoding="utf-8", newline="\n")
    return path


def to_html(experiment: Experiment, report: Report, data: str) -> str:
    """The report as an HTML page; raises as :func:`.page.to_page`."""
    parts = [replace(one, file=_file(experiment, one)) if isinstance(one, Table) else one for one in report.parts]
    contents = any(isinstance(part, Heading) for part in parts)
    return to_page(f"experiment {experiment.name}", experiment.title, (experiment.source, data), parts, contents)


def _file(experiment: Experiment, table: Table) -> str:
    return f"{experiment.name}-{table.name}.parquet"
