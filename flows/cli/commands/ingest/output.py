"""Contests into a data set with their progress shown, and the counts of an ingestion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...terminal.options import LakeAddress
from ...terminal.output import print_line, print_wait, progress

if TYPE_CHECKING:
    from ....ingestion.files import ReadContests
    from ....ingestion.report import SourceReport
    from ....ingestion.source_update import SourceRequest


def print_report(report: SourceReport) -> None:
    """Print the counts of an ingestion; remarks go to standard error."""
    *details, counts = report.lines()
    for line in details:
        print_line(line, err=True)
    print_line(f"data set {report.dataset}: {counts}")


def ingest_requested(lake: LakeAddress, request: SourceRequest, what: str, units: str, **how: Any) -> None:
    """Bring a data set up to date with a source, and print the counts."""
    from ....ingestion.source_update import update

    with progress(what, units) as on_progress:
        shown: dict[str, Any] = {"on_progress": on_progress, "on_wait": print_wait}
        opened = lake.open(create=True)
        report = update(opened, request, on_retry=lambda why: print_line(why, err=True), **shown, **how)
    print_report(report)


def ingest_checked(lake: LakeAddress, dataset: str, contests: ReadContests, **how: Any) -> None:
    """Add contests to a data set, all or none, and print the counts."""
    from ....ingestion.files import ingest_contests
    from ....ingestion.report import counted

    opened = lake.open(create=True)
    with progress("ingesting") as update:
        taken = ingest_contests(opened, dataset, contests, on_wait=print_wait, on_progress=update, **how)
    for line in taken.read.lines():
        print_line(line, err=line.startswith(("time", "left", "column", "duplicate")))
    if taken.alike:
        print_line(taken.alike, err=True)
    kinds = ("new", "corrected", "removed", "unchanged")
    counts = counted({kind: getattr(taken, kind) for kind in kinds}, "contest")
    counts += f"; {taken.moved:,} of them moved" if taken.moved else ""
    print_line(f"data set {dataset}: {counts or 'no contests'}")
