"""Run an experiment on chosen histories, and write its report: one self-contained page, and its tables as Parquet."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from ranklake.storage import Dataset, Lake

from ..common.extras import need
from ..common.text import count, visible
from ..evaluation.residuals import contest_classes
from ..plotting.figures import drawing
from ..sources.options import ReadOptions
from . import find_experiment
from .base import Experiment, ExperimentContext, Picture, Report, Table
from .data import History, from_file, from_lake, name_of, synthetic
from .published import Contender, parse_contender

_HUGE = 1e9  # larger numbers are shown in powers of ten
_SYNTHETIC = "paper"  # the preset for experiments without data


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
        chosen = list(self.datasets) if self.datasets or lake is None or self.files else Dataset.names(lake)
        names = [*map(name_of, self.files), *chosen]
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise ValueError(f"two data sets are called {twice!r}")
        if not names and experiment.data == "given":
            rule = "needs a real history: --data codeforces.tar.xz, or a --lake that has one"
            raise ValueError(f"experiment {self.name} {rule}")
        found = [from_file(path, self.options) for path in self.files]
        if lake is not None:
            found += [from_lake(lake, name) for name in chosen]
        if experiment.data == "beside" or (experiment.data == "instead" and not found):
            found.append(synthetic(_SYNTHETIC, self.seed))
        for history in found:
            if len(history.rounds) < experiment.least:
                raise ValueError(
                    f"experiment {self.name} needs at least {experiment.least:,} rated contests; "
                    f"data set {history.name} has {len(history.rounds):,}"
                )
            experiment.check(history)
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
    for name, table in report.tables.items():
        pq.write_table(table.to_arrow(), folder / f"{experiment.name}-{name}.parquet")
    path = folder / f"{experiment.name}.html"
    path.write_text(page, encoding="utf-8", newline="\n")
    return path


def to_html(experiment: Experiment, report: Report, data: str) -> str:
    """The report as an HTML page.

    Raises MissingExtraError: the package jinja2 is not installed.
    """
    jinja2 = need("jinja2", "report", "an experiment's report")
    environment = jinja2.Environment(
        autoescape=True, finalize=_visible, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    template = environment.from_string(resources.files(__package__).joinpath("report.html").read_text("utf-8"))
    page: str = template.render(
        experiment=experiment,
        data=data,
        version=metadata.version("ranklake"),
        day=datetime.now(UTC).strftime("%Y-%m-%d"),
        parts=[_part(experiment, part) for part in report.parts],
    )
    return page


def _visible(value: Any) -> Any:
    """A value for the page; direction controls are escaped, as they would reorder the text around them."""
    return visible(value) if isinstance(value, str) else value


def _part(experiment: Experiment, part: str | Table | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"kind": "text", "text": part}
    if isinstance(part, Picture):
        return {"kind": "picture", "caption": part.caption, "svg": base64.b64encode(part.svg).decode("ascii")}
    digits = part.digits
    shown = {
        heading: [_cell(value, digits if isinstance(digits, int) else digits.get(heading, 1)) for value in values]
        for heading, values in part.columns.items()
    }
    numeric = [any(isinstance(value, int | float) for value in values) for values in part.columns.values()]
    rows = [list(zip(row, numeric, strict=True)) for row in zip(*shown.values(), strict=True)]
    file = f"{experiment.name}-{part.name}.parquet"
    return {
        "kind": "table", "caption": part.caption, "headings": list(zip(shown, numeric, strict=True)), "rows": rows,
        "file": file,
    }  # fmt: skip


def _cell(value: Any, digits: int) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    shown = f"{value:,.{digits}f}" if abs(value) < _HUGE else f"{value:.2e}"
    return shown.replace("-", "−")
