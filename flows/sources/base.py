"""Parts that all sources use: the error for invalid input, the report of an ingestion, and the filter of contests."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from ranklake.storage.datasets.tables.contests import Contest

from ..common.text import count, message, quoted

_LABELS = 5  # labels of rows in an error
LONGEST_PLACE = 300  # characters of the id of a contest, and of an address or a member, in an error

OnError = Literal["stop", "skip"]
Order = Literal["number", "time", "given"]


class SourceError(Exception):
    """Invalid input from a source.

    ``rule``: the rule that is broken, in words, with the value.
    ``contest``: its id; empty if the fault lies with the whole source.
    ``member``: the file inside an archive or folder.
    ``rows``: from 0, like places, in a standings list; from 1, without the header, in a table. ``lines`` of a text
    file, from 1, and ``labels`` of a data frame's index say where these rows are.
    ``participations``: the number of all rows of the contest; 0 if it is unknown.
    """

    def __init__(
        self,
        rule: str,
        source: str = "",
        contest: str = "",
        member: str = "",
        rows: Sequence[int] = (),
        lines: Sequence[int] = (),
        labels: Sequence[object] = (),
        participations: int = 0,
    ) -> None:
        # All values go to the base class by position: pickle passes them to the constructor in another process.
        super().__init__(rule, source, contest, member, rows, lines, labels, participations)
        self.rule, self.source, self.contest, self.member = rule, source, contest, member
        self.rows, self.lines, self.labels = rows, lines, labels
        self.participations = participations

    def __str__(self) -> str:
        # The source may have chosen both, at any length.
        contest, place = (message(part, LONGEST_PLACE) for part in (self.contest, self.member))
        if contest:
            place = f"contest {contest}{f' ({place})' if place else ''}"
        where = ", ".join(part for part in (self.source, place, self._rows_in_words()) if part)
        return message(f"{where}: {self.rule}" if where else self.rule)

    def _rows_in_words(self) -> str:
        lines = _in_words("line", self.lines)
        labels = [quoted(label) for label in self.labels[:_LABELS]] + ["..."] * (len(self.labels) > _LABELS)
        more = lines or (f"index {', '.join(labels)}" if labels else "")
        rows = _in_words("row", self.rows)
        return f"{rows} ({more})" if rows and more else rows or more


class EmptyContestError(SourceError):
    """A contest without participants: it is left out and named, and stops no reading."""


class LeftOut(NamedTuple):
    """A contest that was skipped, and the message with the reason."""

    contest: str
    reason: str


class Duplicate(NamedTuple):
    """A contest that was dropped, and the earlier one that it repeats."""

    contest: str
    same_as: str


@dataclass
class IngestReport:
    """What one ingestion read and what it skipped; filled while the contests are read.

    ``left_out``: contests without participants, and under ``on_error="skip"`` those with a fault; ``not_read`` are the
    participations of each, 0 if they are unknown.
    ``time_goes_back``: contests that are earlier than the previous one; the order was kept.
    ``there``: the contests of the source, as soon as it is known how many it has.
    ``on_reading``: called with the progress in words, while the source is read before its first contest.
    """

    contests: int = 0
    participations: int = 0
    left_out: list[LeftOut] = field(default_factory=list)
    not_read: dict[str, int] = field(default_factory=dict)
    duplicates: list[Duplicate] = field(default_factory=list)
    time_goes_back: int = 0
    other_files: int = 0
    notes: list[str] = field(default_factory=list)
    there: int | None = None
    on_reading: Callable[[str], None] | None = field(default=None, repr=False, compare=False)

    def reading(self, words: str) -> None:
        """Report the progress of reading."""
        if self.on_reading is not None:
            self.on_reading(words)

    def lines(self) -> list[str]:
        """The report in lines: one of counts, then one for each unusual finding."""
        lines = [f"read {count(self.contests, 'contest')}, {count(self.participations, 'participation')}"]
        lines[0] += self.skipped()
        if self.time_goes_back:
            lines.append(f"time goes back at {count(self.time_goes_back, 'contest')}; the order was kept as given")
        if self.other_files:
            lines.append(f"{count(self.other_files, 'other file')} ignored")
        lines += self.notes
        lines += [f"duplicate dropped: contest {contest} repeats {same_as}" for contest, same_as in self.duplicates]
        for contest, reason in self.left_out:
            n = self.not_read.get(contest)
            lines.append(f"left out: {reason}" + (f"; the contest has {count(n, 'participation')}" if n else ""))
        return lines

    def skipped(self) -> str:
        """The counts of what was left out, to follow other counts; empty if nothing was."""
        if not self.left_out:
            return ""
        contests = sum(bool(one.contest) for one in self.left_out)
        n_rows = sum(self.not_read.values())
        counts = {"contest": contests, "record": len(self.left_out) - contests, "participation": n_rows}
        return "; left out " + ", ".join(count(n, noun) for noun, n in counts.items() if n)


def filter_contests(
    items: Iterable[Contest | SourceError],
    report: IngestReport,
    *,
    on_error: OnError = "stop",
    dedupe: bool = False,
    in_field: bool = False,
) -> Iterator[Contest]:
    """Pass valid contests on, stop at faults or skip them, and fill the report.

    ``items``: contests in rated order; a contest with a fault is its :class:`SourceError`, as a value, because a
    generator that raises cannot go on. An error that it raises, such as damage to a whole archive, always stops.
    ``on_error``: ``stop`` raises the first fault; ``skip`` lists it in the report. A contest without participants is
    always listed.
    ``dedupe``: drop a contest that repeats an earlier one: the same address or, for contests without one, the same
    time, weight, ceiling and standings. Titles are not compared: two events may have the same title.
    ``in_field``: rated participants of all contests compete with unrated ones.
    """
    seen: dict[str, str] = {}
    latest: int | None = None
    with closing(items) if isinstance(items, Generator) else nullcontext():  # close files before an error is reported
        for item in items:
            if isinstance(item, SourceError):
                if on_error == "stop" and not isinstance(item, EmptyContestError):
                    raise item
                report.left_out.append(LeftOut(item.contest, str(item)))
                report.not_read[item.contest] = item.participations
                continue
            if dedupe:
                # The digest covers the contest id, and a repetition has another id.
                same_as = seen.setdefault(item.url or replace(item, contest_id="").content_digest, item.contest_id)
                if same_as != item.contest_id:
                    report.duplicates.append(Duplicate(item.contest_id, same_as))
                    continue
            if latest is not None and item.time_seconds < latest:
                report.time_goes_back += 1
            latest = item.time_seconds
            report.contests += 1
            report.participations += len(item)
            yield replace(item, field_includes_unrated=True) if in_field else item


def contest_number(contest_id: str) -> int | None:
    """The id of a contest as a number, for ordering; None if it is no number."""
    return int(contest_id) if re.fullmatch(r"[0-9]{1,18}", contest_id) else None


def _in_words(noun: str, numbers: Sequence[int]) -> str:
    if len(numbers) == 0:
        return ""
    if len(numbers) == 1:
        return f"{noun} {numbers[0]}"
    if len(numbers) > 2 and numbers[-1] - numbers[0] + 1 == len(numbers):
        return f"{noun}s {numbers[0]}-{numbers[-1]}"
    if len(numbers) > 6:
        return f"{noun}s {', '.join(map(str, numbers[:5]))}, ... ({len(numbers)} in all)"
    return f"{noun}s {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
