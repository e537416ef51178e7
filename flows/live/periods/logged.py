"""Records of the log: what is in their bodies, and matches read from them in parts."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec
import numpy as np

from ..log.records import Entry, Kind, Log, Record
from ..matches.match import Match
from ..matches.rounds import Accepted
from .calendar import PeriodLength, period_number

PART = 1_000  # matches that are read, or rated again, together


class LoggedMatch(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a record of a match. ``by``: the name of the token that sent it."""

    match: Match
    by: str = ""


class LoggedChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a record that removes a match, or bans a player or not any more.

    ``name``: the id of the match, or the handle of the player. ``by``: the name of the token that sent it.
    """

    name: str
    why: str = ""
    by: str = ""


_STORED, _CHANGE = msgspec.json.Decoder(LoggedMatch), msgspec.json.Decoder(LoggedChange)


def entry_of(match: Match, by: str) -> Entry:
    """The entry of a match for the log."""
    return Entry("match", match.id, msgspec.json.encode(LoggedMatch(match, by)))


def change_entry(kind: Kind, change: LoggedChange) -> Entry:
    """The entry of a change for the log; of no match, as its match has another record."""
    return Entry(kind, "", msgspec.json.encode(change))


def change_of(record: Record) -> LoggedChange:
    """The change of a record that is not released."""
    return _CHANGE.decode(record.body)


class Tail(NamedTuple):
    """The records of a log from one on, without the matches.

    ``first``: sequence number of the first record. ``received``: of every record, UTC seconds.
    ``changes``: the records that are no matches.
    """

    first: int
    received: array[float]
    changes: Sequence[Record]

    @property
    def removals(self) -> list[LoggedChange]:
        """The changes that remove matches."""
        return [change_of(record) for record in self.changes if record.kind == "remove"]


def read_tail(log: Log, first: int) -> Tail:
    """The records from ``first`` on, in one pass."""
    received, changes = array("d"), []
    for record in log.read(first):
        received.append(record.received)
        if record.kind != "match":
            changes.append(record)
    return Tail(first, received, changes)


def removed_by(log: Log, tail: Tail) -> set[int]:
    """The sequence numbers of the matches that records of a tail remove."""
    names = [change.name for change in tail.removals]
    return {record.sequence for record in log.find(names) if record is not None} if names else set()


def with_bans(banned: Iterable[str], records: Iterable[Record]) -> set[str]:
    """The banned players after further records."""
    found = set(banned)
    for record in records:
        if record.kind == "ban":
            found.add(change_of(record).name)
        elif record.kind == "unban":
            found.discard(change_of(record).name)
    return found


def match_of(record: Record) -> Match:
    """The match of a record that is not released."""
    return _STORED.decode(record.body).match


def with_time(match: Match, received: float) -> Accepted:
    """A match with its time, which is that of its acceptance if it was sent without one."""
    return Accepted(match, int(received) if match.time is None else match.time)


def matches_between(log: Log, first: int, last: int, others: Collection[int]) -> Iterator[Sequence[Accepted]]:
    """The matches among some records, in parts, without those of some sequence numbers."""
    others = set(others)
    part: list[Accepted] = []
    for record in log.read(first):
        if record.sequence > last:
            break
        if record.kind == "match" and record.sequence not in others:
            part.append(with_time(match_of(record), record.received))
        if len(part) == PART:
            yield part
            part = []
    if part:
        yield part


def period_bounds(
    tail: Tail, length: PeriodLength, resets: Sequence[int], removed: Collection[int]
) -> Iterator[tuple[int, int, int, tuple[int, ...]]]:
    """The periods of the records of a tail: number, first and last sequence number, records without a match.

    ``resets``: times of resets, UTC seconds, ascending; a period ends before each.
    ``removed``: sequence numbers of matches that are removed.
    """
    if not len(tail.received):
        return
    received = np.asarray(tail.received).astype(np.int64)
    number, after = period_number(received, length), np.searchsorted(resets, received, "right")
    cuts = np.flatnonzero((np.diff(number) != 0) | (np.diff(after) != 0)) + 1
    others = sorted({*(record.sequence for record in tail.changes), *(one for one in removed if one >= tail.first)})
    for begin, end in pairwise([0, *cuts.tolist(), len(received)]):
        first, stop = tail.first + begin, tail.first + end
        of_period = others[bisect_left(others, first) : bisect_left(others, stop)]
        yield int(number[begin]), first, stop - 1, tuple(of_period)
