"""What came of ingestions, in a form that tests compare."""

from __future__ import annotations

from ranklake.flows.ingestion.report import SourceReport
from ranklake.storage import Dataset, Lake


def counts(report: SourceReport) -> dict[str, int]:
    """Counts of a report that are not zero."""
    kinds = ("new", "corrected", "removed", "unchanged", "renamed", "requests")
    return {kind: n for kind in kinds if (n := getattr(report, kind))}


def standings(lake: Lake, dataset: str) -> dict[str, list[tuple[str, int, int]]]:
    """Who stands where in each contest, in rated order."""
    opened = Dataset.open(lake, dataset)
    handles = opened.handles().to_pylist()
    ids = iter(opened.contests.column("contest_id").to_pylist())
    found = {}
    for part in opened.standings():
        for a, b in zip(part.offsets[:-1], part.offsets[1:], strict=True):
            rows = zip(part.player[a:b], part.lo[a:b], part.hi[a:b], strict=True)
            found[next(ids)] = [(handles[player], int(lo), int(hi)) for player, lo, hi in rows]
    return found
