"""A site made of contests in memory, in place of the ones that are reached over the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from ranklake.flows.ingestion.adding import QUIET, How
from ranklake.flows.ingestion.report import SourceReport
from ranklake.flows.ingestion.source_update import SourceRequest
from ranklake.flows.sources.base import SourceError
from ranklake.storage import Contest, Dataset, Lake


class Site:
    """What it shows is what ``contests`` holds at that moment; it counts who asked, and for what.

    ``down``: why it does not answer, if it does not. ``rejected``: contests it has that are none, and why.
    """

    def __init__(self, contests: Sequence[Contest] = ()) -> None:
        self.contests = list(contests)
        self.down = ""
        self.rejected: list[tuple[str, str]] = []
        self.asked: list[dict[str, Any]] = []

    def update(self, lake: Lake, request: SourceRequest, how: How = QUIET) -> SourceReport:
        self.asked.append({name: getattr(request, name) for name in ("source", "dataset", "since", "base_url")})
        if self.down:
            raise SourceError(self.down, request.source)
        report = SourceReport(request.source, request.dataset, rejected=list(self.rejected), requests=1)
        with Dataset.ingest(lake, report.dataset, mirror=bool(self.contests)) as adding:
            for i, one in enumerate(self.contests):
                report.count(adding.add(one))
                how.on_progress(i + 1, len(self.contests), "")
        report.removed = len(adding.removed)
        return report


def turned(one: Contest) -> Contest:
    """The same contest with other places."""
    return replace(one, handles=pa.array(one.handles.to_pylist()[::-1], pa.string()))
