"""Records of the log: what is in their bodies, and matches read from them in parts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

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


def removed_after(log: Log, first: int) -> set[int]:
    """The sequence numbers of the matches that the records from ``first`` on remove."""
    names = [change_of(record).name for record in log.read(first) if record.kind == "remove"]
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
    log: Log, first: int, length: PeriodLength, resets: Sequence[int], removed: Collection[int]
) -> Iterator[tuple[int, int, int, tuple[int, ...]]]:
    """The periods of the records from ``first`` on: number, first and last sequence number, records without a match.

    ``resets``: times of resets, UTC seconds, ascending; a period ends before each.
    ``removed``: sequence numbers of matches that are removed.
    """
    key, begin, last, others = (-1, 0), first, first - 1, list[int]()
    for record in log.read(first):
        received = int(record.received)
        of_record = period_number(received, length), bisect_right(resets, received)
        if of_record != key and last >= begin:
            yield key[0], begin, last, tuple(others)
            begin, others = record.sequence, []
        key, last = of_record, record.sequence
        if record.kind != "match" or record.sequence in removed:
            others.append(record.sequence)
    if last >= begin:
        yield key[0], begin, last, tuple(others)
