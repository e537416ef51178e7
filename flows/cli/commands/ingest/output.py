"""Contests into a data set with their progress shown, and the counts of an ingestion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...terminal.parameters import LakeAddress
from ...terminal.terminal import print_line, print_wait, progress

if TYPE_CHECKING:
    from ranklake.storage import Contest
    from ranklake.storage.datasets.ingest import IngestOrder

    from ....ingestion.report import SourceReport
    from ....sources.base import IngestReport

__all__ = ["ingest_checked", "print_report"]


def print_report(report: SourceReport) -> None:
    """Print the counts of an ingestion; remarks go to standard error."""
    *details, counts = report.lines()
    for line in details:
        print_line(line, err=True)
    print_line(f"data set {report.dataset}: {counts}")


def ingest_checked(
    lake: LakeAddress,
    dataset: str,
    contests: Iterator[Contest],
    report: IngestReport,
    order: IngestOrder = "source",
    **how: Any,
) -> None:
    """Add contests to a data set, all or none, and print the counts."""
    from ....ingestion.files import FILES, ingest_contests
    from ....ingestion.report import FilesReport, counted

    opened, taken = lake.open(create=True), FilesReport(FILES, dataset, read=report)
    with progress("ingesting") as update:
        ingest_contests(opened, contests, taken, order, on_wait=print_wait, on_progress=update, **how)
    for line in report.lines():
        print_line(line, err=line.startswith(("time", "left", "column", "duplicate")))
    if taken.alike:
        print_line(taken.alike, err=True)
    kinds = ("new", "corrected", "removed", "unchanged")
    counts = counted({kind: getattr(taken, kind) for kind in kinds}, "contest")
    counts += f"; {taken.moved:,} of them moved" if taken.moved else ""
    print_line(f"data set {dataset}: {counts or 'no contests'}")
