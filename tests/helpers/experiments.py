"""Experiments, run as the command runs them."""

from __future__ import annotations

from typing import Any

from ranklake.flows.experiments import find_experiment
from ranklake.flows.experiments.base import ExperimentContext, Report
from ranklake.flows.experiments.data import History
from ranklake.flows.plotting.figures import drawing


def run(name: str, *histories: History) -> Report:
    """The report of an experiment on these histories."""
    with drawing("a test"):
        return find_experiment(name).run(ExperimentContext(histories))


def rows(report: Report, table: str) -> list[dict[str, Any]]:
    """The rows of a table of a report, by heading."""
    columns = report.tables[table].columns
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def finding(report: Report) -> str:
    """The sentences that say what an experiment found, of all its histories."""
    found = [part for part in report.parts if isinstance(part, str) and part.startswith("Found: ")]
    assert found
    return " ".join(found)
