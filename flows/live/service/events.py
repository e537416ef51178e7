"""Events of the log as server-sent events: the latest ones from memory, earlier ones from the log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ranklake.storage import LakeError, MissingError

from ...databases.errors import DatabaseError
from ...http.server.problems import Problem
from ...http.server.streams import ALIVE, ALIVE_SECONDS, Listeners
from ..periods.logged import change_of, match_of

if TYPE_CHECKING:
    from ..log.records import Kind, Log, Record
    from ..matches.match import Match

KEPT_EVENTS = 16_384
REBASED = "rebased"  # another state after a correction: no record of the log
_CHANGES = {"remove": "id", "ban": "player", "unban": "player"}  # what their names are
_LOG = logging.getLogger(__name__)
_RETRY_SECONDS = 5.0  # for events of a log that cannot be read
_UNREADABLE = (LakeError, DatabaseError, OSError)
_AT_ONCE = 500  # events of the log that are read in one step


class Event(NamedTuple):
    """What happened: ``kind`` is that of a record, or ``rebased``; ``facts`` are its data, or the match: the data of
    most events have no reader and are never made.
    """

    sequence: int
    kind: str
    facts: dict[str, Any] | Match

    def encode(self) -> bytes:
        """The event as its listeners get it; its id is the sequence number."""
        facts = self.facts
        if not isinstance(facts, dict):
            facts = {"id": facts.id, "players": [name for side in facts.sides for name in side.players]}
        data = msgspec.json.encode({"sequence": self.sequence, **facts})
        return b"event: %s\nid: %d\ndata: %s\n\n" % (self.kind.encode(), self.sequence, data)


def event_of(sequence: int, match: Match) -> Event:
    """The event of a match that is accepted."""
    return Event(sequence, "match", match)


def event_of_change(sequence: int, kind: Kind, name: str) -> Event:
    """The event of a correction, or of a ban."""
    return Event(sequence, kind, {_CHANGES[kind]: name})


def event_of_record(record: Record) -> Event:
    """The event of a record of the log."""
    if record.kind == "match":
        return event_of(record.sequence, match_of(record))
    if record.kind in _CHANGES:
        return event_of_change(record.sequence, record.kind, change_of(record).name)
    return Event(record.sequence, record.kind, {})


class Events:
    """The latest events, and the connections that wait for more; used in the event loop alone.

    ``listeners``: counts the connections. ``of_record``: the event of a record of the log.
    """

    def __init__(self, listeners: Listeners, of_record: Callable[[Record], Event]) -> None:
        self.listeners, self._of_record = listeners, of_record
        self._kept: list[Event] = []
        self._n = 0  # events so far; the last of them are kept
        self._news = asyncio.Event()

    def add(self, events: list[Event]) -> None:
        """Tell all connections."""
        self._kept += events
        self._n += len(events)
        if len(self._kept) > 2 * KEPT_EVENTS:
            del self._kept[:-KEPT_EVENTS]
        self._wake()

    def close(self) -> None:
        """End all streams."""
        self.listeners.close()
        self._wake()

    async def stream(self, log: Log, since: int | None) -> AsyncIterator[bytes]:
        """The events after a sequence number, by default after the last one, and then each further one.

        Raises Problem: there is no such number yet, the log has released records after it, or cannot be read.
        """
        last = log.last
        since = last if since is None else since
        if since > last:
            raise Problem.of_parameter("since", str(since), f"must be at most {last:,}, the last sequence number")
        if since < last:
            try:
                await asyncio.to_thread(next, log.read(since + 1), None)
            except MissingError:
                remedy = "read players, and then events after their sequence number"
                raise Problem(410, f"the log has released events after {since:,}; {remedy}") from None
            except _UNREADABLE as error:
                _LOG.error("events cannot be read: %s", error)
                raise Problem(503, "the log cannot be read at present", retry_after=_RETRY_SECONDS) from None
        return self._stream(log, since)

    async def _stream(self, log: Log, since: int) -> AsyncIterator[bytes]:
        yield b": begin\n\n"  # or the head of the answer would wait for the first event
        at: int | None = None  # number of the next event among those that are kept; None: the log has it
        records: Iterator[Record] | None = None  # of the log, as far as it is read
        while not self.listeners.ended:
            news = self._news
            if at is None or at < self._n - len(self._kept):
                at = self._place(log, since)
            if at is None:
                records = log.read(since + 1) if records is None else records
                try:
                    found = await asyncio.to_thread(self._read, records)
                except _UNREADABLE:  # or released in the meantime: the client asks again, and gets the reason
                    return
                if len(found) < _AT_ONCE:
                    records = None
                if not found:
                    continue
            else:
                first = at - (self._n - len(self._kept))
                part = self._kept[first : first + _AT_ONCE]
                at += len(part)
                found = [event for event in part if event.sequence > since or event.kind == REBASED]
                if part and not found:
                    continue
            if found:
                since = max(since, found[-1].sequence)
                yield b"".join(event.encode() for event in found)
                continue
            try:
                await asyncio.wait_for(news.wait(), ALIVE_SECONDS)
            except TimeoutError:
                yield ALIVE

    def _place(self, log: Log, since: int) -> int | None:
        """The number of the first kept event after a sequence number; None if some event before it is not kept."""
        if not self._kept:
            return self._n if log.last <= since else None
        if self._kept[0].sequence > since + 1:
            return None
        behind = next((n for n, event in enumerate(self._kept) if event.sequence > since), len(self._kept))
        return self._n - len(self._kept) + behind

    def _read(self, records: Iterator[Record]) -> list[Event]:
        return [self._of_record(record) for record in islice(records, _AT_ONCE)]

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
