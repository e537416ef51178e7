"""lichess: arena and swiss tournaments of teams or with given ids, or the recently ended arenas.

Source: lichess.org/api. Results come as one JSON object a line, best first. The site requires one request at a time,
and a pause of a minute after a 429.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

import msgspec

from ranklake.storage.datasets.tables.contests import Contest

from ..base import SourceError
from .documents import Document, Key
from .site import DocumentRequest, ListFetcher, Site, first

HOME = "https://lichess.org/"
FINISHED = 30  # the status of an arena that is over


class _Arena(msgspec.Struct, rename="camel"):
    """An arena, in lists: times are milliseconds."""

    id: str
    full_name: str
    finishes_at: int
    status: int


class _OneArena(msgspec.Struct, rename="camel"):
    """An arena in a response of its own: its start is a date, its length in minutes."""

    id: str
    full_name: str
    starts_at: datetime
    minutes: int
    is_finished: bool = False


class _Swiss(msgspec.Struct, rename="camel"):
    id: str
    name: str
    starts_at: datetime
    status: str


class _Recent(msgspec.Struct):
    finished: list[_Arena]


class _Row(msgspec.Struct, gc=False):
    rank: int
    username: str


@dataclass(frozen=True, slots=True)
class _Over:
    """A tournament that has ended."""

    kind: str
    id: str
    name: str
    end: int


class Lichess(Site):
    """``teams``, ``arenas``, ``swisses``: ids of teams and tournaments; by default the recently ended arenas."""

    name = "lichess"
    interval_seconds = 1.0
    pause_seconds = 60.0
    kinds = ("tournament", "swiss")

    def __init__(self, teams: Sequence[str] = (), arenas: Sequence[str] = (), swisses: Sequence[str] = ()) -> None:
        self.base_url = HOME
        self._teams, self._arenas, self._swisses = teams, arenas, swisses

    def list_documents(self, fetcher: ListFetcher, since: int | None, now: int) -> Iterator[DocumentRequest]:
        """Results of the tournaments that have ended."""
        tournaments: dict[tuple[str, str], _Over] = {}
        for tournament in self._ended(fetcher):
            tournaments.setdefault((tournament.kind, tournament.id), tournament)
        for over in sorted(tournaments.values(), key=lambda over: (over.end, over.id)):
            if since is None or over.end >= since:
                about = {"name": over.name, "time_seconds": over.end}
                yield DocumentRequest(
                    Key(over.kind, over.id), f"api/{over.kind}/{quote(over.id, safe='')}/results", over.end, about
                )

    def parse(self, document: Document) -> Iterable[Contest | SourceError]:
        """One tournament; none if it has no participants."""
        rows = self.decode_lines(_Row, document)
        key, about = document.key, document.about
        if not rows:
            return []
        ranks = [row.rank for row in rows]
        at = first(range(len(ranks)), lambda at: not (ranks[at - 1] if at else 1) <= ranks[at] <= at + 1)
        if at is not None:
            return [self.fault(document)(f"rank = {ranks[at]} at position {at + 1}", at)]
        url = f"{HOME}{key.kind}/{quote(key.name, safe='')}"
        handles = [row.username for row in rows]
        return [self.contest(document, about["name"], url, about["time_seconds"], handles, ranks)]

    def _ended(self, fetcher: ListFetcher) -> Iterator[_Over]:
        if not (self._teams or self._arenas or self._swisses):
            yield from fetcher.fetch_list(Key("list", "recent"), "api/tournament", self._read_recent)
        for team in self._teams:
            place = f"api/team/{quote(team, safe='')}"
            yield from fetcher.fetch_list(Key("list", f"arenas of {team}"), f"{place}/arena", self._read_arenas)
            yield from fetcher.fetch_list(Key("list", f"swisses of {team}"), f"{place}/swiss", self._read_swisses)
        for kind, ids, read in (
            ("tournament", self._arenas, self._read_arena),
            ("swiss", self._swisses, self._read_swisses),
        ):
            for tournament in ids:
                about = fetcher.about(Key(kind, tournament))
                if about is None:  # name and time of an ended tournament do not change
                    yield from fetcher.fetch_list(
                        Key("list", f"{kind} {tournament}"), f"api/{kind}/{quote(tournament, safe='')}", read
                    )
                else:
                    yield _Over(kind, tournament, about["name"], about["time_seconds"])

    def _read_recent(self, document: Document) -> list[_Over]:
        return _arenas(self.decode(_Recent, document).finished)

    def _read_arenas(self, document: Document) -> list[_Over]:
        return _arenas(self.decode_lines(_Arena, document))

    def _read_arena(self, document: Document) -> list[_Over]:
        arena = self.decode(_OneArena, document)
        end = _seconds(arena.starts_at) + 60 * arena.minutes
        return [_Over("tournament", arena.id, arena.full_name, end)] if arena.is_finished else []

    def _read_swisses(self, document: Document) -> list[_Over]:
        # The end is unknown; the start is used instead.
        over = [one for one in self.decode_lines(_Swiss, document) if one.status == "finished"]
        return [_Over("swiss", one.id, one.name, _seconds(one.starts_at)) for one in over]


def _arenas(listed: list[_Arena]) -> list[_Over]:
    over = [arena for arena in listed if arena.status == FINISHED]
    return [_Over("tournament", arena.id, arena.full_name, arena.finishes_at // 1000) for arena in over]


def _seconds(moment: datetime) -> int:
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
