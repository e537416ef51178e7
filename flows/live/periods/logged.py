"""Records of the log: what is in their bodies, and matches read from them in parts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import msgspec

from ..log.records import Entry, Log, Record
from ..matches.match import Match
from ..matches.rounds import Accepted
from .calendar import PeriodLength, period_number

PART = 1_000  # matches that are read, or rated again, together


class LoggedMatch(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a record of a match. ``by``: the name of the token that sent it."""

    match: Match
    by: str = ""


_STORED = msgspec.json.Decoder(LoggedMatch)


def entry_of(match: Match, by: str) -> Entry:
    """The entry of a match for the log."""
    return Entry("match", match.id, msgspec.json.encode(LoggedMatch(match, by)))


def match_of(record: Record) -> Match:
    """The match of a record that is not released."""
    return _STORED.decode(record.body).match


def with_time(match: Match, received: float) -> Accepted:
    """A match with its time, which is that of its acceptance if it was sent without one."""
    return Accepted(match, int(received) if match.time is None else match.time)


def matches_between(log: Log, first: int, last: int) -> Iterator[Sequence[Accepted]]:
    """The matches among some records, in parts."""
    part: list[Accepted] = []
    for record in log.read(first):
        if record.sequence > last:
            break
        if record.kind == "match":
            part.append(with_time(match_of(record), record.received))
        if len(part) == PART:
            yield part
            part = []
    if part:
        yield part


def period_bounds(
    log: Log, first: int, length: PeriodLength, resets: Sequence[int] = ()
) -> Iterator[tuple[int, int, int, tuple[int, ...]]]:
    """The periods of the records from ``first`` on: number, first and last sequence number, records without a match.

    ``resets``: times of resets, UTC seconds, ascending; a period ends before each.
    """
    key, begin, last, others = (-1, 0), first, first - 1, list[int]()
    for record in log.read(first):
        received = int(record.received)
        of_record = period_number(received, length), bisect_right(resets, received)
        if of_record != key and last >= begin:
            yield key[0], begin, last, tuple(others)
            begin, others = record.sequence, []
        key, last = of_record, record.sequence
        if record.kind != "match":
            others.append(record.sequence)
    if last >= begin:
        yield key[0], begin, last, tuple(others)
