"""What an ingestion brought: counts of contests, and what was rejected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..common.text import count
from ..sources.base import IngestReport, SourceError

__all__ = ["FilesReport", "SourceReport", "counted"]


@dataclass
class SourceReport:
    """What came of an ingestion.

    Attributes
    ----------
    source, dataset : str
        From where to where.
    new, corrected, removed, unchanged : int
        Contests of the data set; ``removed`` are those that the site has taken back.
    renamed : int
        Contests whose players count by a new name; ratings stay as they were.
    absent : int
        Contests that the site lists and answers 403 or 404 for.
    rejected : list of (contest_id, reason)
        What was not taken, now or again: contests with a fault, and responses that nobody can read.
    requests : int
        How often the site was asked.
    seconds : float
        All in all.
    """

    source: str
    dataset: str
    new: int = 0
    corrected: int = 0
    removed: int = 0
    unchanged: int = 0
    renamed: int = 0
    absent: int = 0
    rejected: list[tuple[str, str]] = field(default_factory=list)
    requests: int = 0
    seconds: float = 0.0

    @property
    def changed(self) -> bool:
        """Whether ratings may have to follow."""
        return bool(self.new or self.corrected or self.removed)

    def count(self, change: Literal["new", "corrected", "unchanged"]) -> None:
        """A contest came in."""
        setattr(self, change, getattr(self, change) + 1)

    def reject(self, error: SourceError) -> None:
        """Something did not."""
        self.rejected.append((error.contest, str(error)))

    def asked(self) -> str:
        """What the source was asked for."""
        return count(self.requests, "request") if self.requests else "nothing asked"

    def details(self) -> list[str]:
        """What a person should know beside the counts, one line each."""
        return [f"rejected: {reason}" for _, reason in self.rejected]

    def line(self) -> str:
        """The counts, for a person: contests of the data set, compared with what it had before."""
        numbers = {kind: getattr(self, kind) for kind in ("new", "corrected", "removed", "unchanged")}
        counts = counted(numbers, "contest") or "no contests"
        absent = f", {self.absent:,} not there (HTTP 403 or 404)" if self.absent else ""
        rejected = f", {len(self.rejected):,} rejected" if self.rejected else ""
        return f"{counts}{absent}{rejected}; {self.asked()}, in {self.seconds:.1f} s"

    def lines(self) -> list[str]:
        """The details, then the counts."""
        return [*self.details(), self.line()]


@dataclass
class FilesReport(SourceReport):
    """What came of an ingestion of files.

    Attributes
    ----------
    read : IngestReport
        What was read, and what was not.
    moved : int
        Contests of the data set whose place in its order is another one now.
    n_files, n_changed : int
        Files there are, and how many of these were changed since the last ingestion.
    """

    read: IngestReport = field(default_factory=IngestReport)
    moved: int = 0
    n_files: int = 0
    n_changed: int = 0

    @property
    def changed(self) -> bool:
        """Whether ratings may have to follow."""
        return super().changed or self.moved > 0

    def asked(self) -> str:
        """What was read."""
        return f"{self.n_changed:,} of {count(self.n_files, 'file')} changed"

    def line(self) -> str:
        """The counts, for a person."""
        return super().line() + (f"; {self.moved:,} of them moved" if self.moved else "")

    def details(self) -> list[str]:
        """What a person should know beside the counts, one line each."""
        return [*super().details(), *self.read.lines()[1:]]


def counted(numbers: Mapping[str, int], noun: str) -> str:
    """Counts of a noun by kind, kinds without any left out: ``3 new, 1 corrected contests``; empty if all are."""
    found = {kind: n for kind, n in numbers.items() if n}
    plural = "" if sum(found.values()) == 1 else "s"
    return f"{', '.join(f'{n:,} {kind}' for kind, n in found.items())} {noun}{plural}" if found else ""
