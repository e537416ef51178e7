"""Reports of ingestions: counts of contests, and the rejected contests and responses."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal

from ..common.text import count
from ..sources.base import IngestReport, SourceError


@dataclass(frozen=True, slots=True)
class ResultsReport:
    """Counts of an ingestion of results of problems.

    ``n_rows``, ``n_problems``: results and their different problems. ``new``, ``corrected``, ``unchanged``: contests.
    ``n_duplicates``: rows of a player and problem that another row had already. ``n_strangers``: rows of players who
    were not in the contest, left out.
    """

    dataset: str
    n_rows: int
    n_problems: int
    new: int
    corrected: int
    unchanged: int
    n_duplicates: int
    n_strangers: int

    def notes(self) -> list[str]:
        """What was left out, one line each."""
        lines = []
        if self.n_duplicates:
            rule = (
                "of a player and a problem in a contest that had one: the greater share, then the earlier time, counts"
            )
            lines.append(f"{count(self.n_duplicates, 'further row')} {rule}")
        if self.n_strangers:
            lines.append(f"{count(self.n_strangers, 'row')} of players who were not in the contest left out")
        return lines

    def line(self) -> str:
        """The counts in one line."""
        kinds = {"new": self.new, "corrected": self.corrected, "unchanged": self.unchanged}
        contests = ", ".join(f"{n:,} {kind}" for kind, n in kinds.items() if n) or "no"
        plural = "" if sum(kinds.values()) == 1 else "s"
        results = f"{count(self.n_rows, 'result')} of {count(self.n_problems, 'problem')}"
        return f"{results}; {contests} contest{plural}"


@dataclass
class SourceReport:
    """Counts of an ingestion from a source.

    ``source``, ``dataset``: names of the source and of the data set.
    ``new``, ``corrected``, ``removed``, ``unchanged``: numbers of contests; ``removed`` are those that the source no
    longer has.
    ``moved``: contests of files whose place in the data set changed.
    ``renamed``: contests whose players have a new name; ratings do not change.
    ``absent``: contests in the list of the site whose response is a 403 or 404.
    ``rejected``: contests with a fault and unreadable responses, from this ingestion or an earlier one.
    ``alike``: a line about new players with names nearly equal to those of others; empty without any.
    ``results``: counts of results of problems; None if none were read.
    ``requests``: requests to the site.
    ``seconds``: duration from the making of the report to its :meth:`end`.
    """

    source: str
    dataset: str
    new: int = 0
    corrected: int = 0
    removed: int = 0
    unchanged: int = 0
    moved: int = 0
    renamed: int = 0
    absent: int = 0
    rejected: list[tuple[str, str]] = field(default_factory=list)
    alike: str = ""
    results: ResultsReport | None = None
    requests: int = 0
    seconds: float = 0.0
    _began: float = field(default_factory=time.monotonic, repr=False, compare=False)

    @property
    def changed(self) -> bool:
        """Whether ratings may have to be updated."""
        return bool(self.new or self.corrected or self.removed or self.moved)

    def count(self, change: Literal["new", "corrected", "unchanged"]) -> None:
        """Count a contest."""
        setattr(self, change, getattr(self, change) + 1)

    def reject(self, error: SourceError) -> None:
        """Add an error to the rejected contests and responses."""
        self.rejected.append((error.contest, str(error)))

    def end(self) -> None:
        """Note the duration."""
        self.seconds = time.monotonic() - self._began

    def counted(self, noun: str, *kinds: str) -> str:
        """The counts of some kinds without zeros, as ``3 new, 1 corrected contests``; empty if all are zero."""
        counts = {kind: n for kind in kinds if (n := getattr(self, kind))}
        plural = "" if sum(counts.values()) == 1 else "s"
        return f"{', '.join(f'{n:,} {kind}' for kind, n in counts.items())} {noun}{plural}" if counts else ""

    def contests(self) -> str:
        """The counts of contests."""
        return self.counted("contest", "new", "corrected", "removed", "unchanged") or "no contests"

    def moves(self) -> str:
        """The number of moved contests, to follow the counts; empty if there are none."""
        return f"; {self.moved:,} of them moved" if self.moved else ""

    def cost(self) -> str:
        """The number of requests, in words."""
        return count(self.requests, "request") if self.requests else "no requests"

    def details(self) -> list[str]:
        """Everything to report beside the counts, one line each."""
        results = [] if self.results is None else [*self.results.notes(), self.results.line()]
        return [*(f"rejected: {reason}" for _, reason in self.rejected), *results, *filter(None, [self.alike])]

    def line(self) -> str:
        """The counts in one line."""
        absent = f", {self.absent:,} absent (HTTP 403 or 404)" if self.absent else ""
        rejected = f", {len(self.rejected):,} rejected" if self.rejected else ""
        return f"{self.contests()}{absent}{rejected}; {self.cost()}, in {self.seconds:.1f} s{self.moves()}"

    def lines(self) -> list[str]:
        """The details, then the counts."""
        return [*self.details(), self.line()]


@dataclass
class FilesReport(SourceReport):
    """Counts of an ingestion of files: contests that were read; files, and those of them that changed since the last
    ingestion.
    """

    read: IngestReport = field(default_factory=IngestReport)
    n_files: int = 0
    n_changed: int = 0

    def cost(self) -> str:
        """The number of changed files, in words."""
        return f"{self.n_changed:,} of {count(self.n_files, 'file')} changed"

    def line(self) -> str:
        """The counts in one line."""
        return super().line() + self.read.skipped()

    def details(self) -> list[str]:
        """Everything to report beside the counts, one line each."""
        return [*super().details(), *self.read.lines()[1:]]
