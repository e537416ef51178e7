"""A site made of contests in memory, in place of the ones that are reached over the network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from ranklake.flows.ingestion.source_update import SourceRequest
from ranklake.flows.sources.base import SourceError
from ranklake.storage import Contest, Dataset, Lake


@dataclass
class Report:
    """As the sources report it."""

    source: str
    dataset: str
    new: int = 0
    corrected: int = 0
    removed: int = 0
    unchanged: int = 0
    rejected: list[tuple[str, str]] = field(default_factory=list)
    requests: int = 1
    seconds: float = 0.0

    @property
    def changed(self) -> bool:
        return self.new + self.corrected + self.removed > 0

    def cost(self) -> str:
        return f"{self.requests} requests"

    def line(self) -> str:
        return f"{self.new} new, {self.corrected} corrected"

    def details(self) -> list[str]:
        return [f"rejected: {reason}" for _, reason in self.rejected]

    def lines(self) -> list[str]:
        return [*self.details(), self.line()]


class Site:
    """What it shows is what ``contests`` holds at that moment; it counts who asked, and for what.

    Attributes
    ----------
    down : str
        Why it does not answer; it does if this is empty.
    rejected : list of tuple of str
        Contests it has that are none, and why.
    """

    def __init__(self, contests: Sequence[Contest] = ()) -> None:
        self.contests = list(contests)
        self.down = ""
        self.rejected: list[tuple[str, str]] = []
        self.asked: list[dict[str, Any]] = []

    def update(
        self,
        lake: Lake,
        request: SourceRequest,
        *,
        on_progress: Callable[[int, int | None, str], None] = lambda *_: None,
        **how: Any,
    ) -> Report:
        self.asked.append({name: getattr(request, name) for name in ("source", "dataset", "since", "base_url")})
        if self.down:
            raise SourceError(self.down, request.source)
        report = Report(request.source, request.dataset, rejected=list(self.rejected))
        with Dataset.ingest(lake, report.dataset, mirror=bool(self.contests)) as adding:
            for i, one in enumerate(self.contests):
                change = adding.add(one)
                setattr(report, change, getattr(report, change) + 1)
                on_progress(i + 1, len(self.contests), "")
        report.removed = len(adding.removed)
        return report


def turned(one: Contest) -> Contest:
    """The same contest with other places."""
    return replace(one, handles=pa.array(one.handles.to_pylist()[::-1], pa.string()))
