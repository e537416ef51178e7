"""How the commands `ingest` show their progress, waits and retries, and the counts of an ingestion."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from ...terminal.output import print_line, print_wait, progress

if TYPE_CHECKING:
    from ....ingestion.adding import How
    from ....ingestion.report import FilesReport, SourceReport


@contextmanager
def ingesting(what: str, units: str = "contests", *, rewrite: bool = False, steal: bool) -> Iterator[How]:
    """How a command ingests, with its progress shown."""
    from ....ingestion.adding import How

    with progress(what, units) as update:
        yield How(rewrite, steal, print_wait, update, partial(print_line, err=True))


def print_report(report: SourceReport) -> None:
    """Print the counts of an ingestion; remarks go to standard error."""
    *details, counts = report.lines()
    for line in details:
        print_line(line, err=True)
    print_line(f"data set {report.dataset}: {counts}")


def print_files_report(report: FilesReport) -> None:
    """Print the counts of an ingestion of named files, and of reading them."""
    for line in report.read.lines():
        print_line(line, err=line.startswith(("time", "left", "column", "duplicate")))
    if report.alike:
        print_line(report.alike, err=True)
    print_line(f"data set {report.dataset}: {report.contests()}{report.moves()}")
