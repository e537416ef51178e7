"""CTFtime: the results of each year, and the names of teams.

Source: ctftime.org/api. A year is one response with all its events. Teams are identified by ids: names are not unique
and may change. The authors of the Elo-MMR paper used positions in the list as places; here the site's places count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated

import msgspec

from ranklake.storage.datasets.tables.contests import Contest

from ..base import SourceError
from ..limits import MAX_HANDLE
from .documents import Document, Key
from .site import DocumentRequest, ListFetcher, Responses, Site, first

HOME = "https://ctftime.org/"
FIRST_YEAR = 2011
PAGE = 300  # teams; the largest page
SINGLE_TEAMS = 200  # teams that are on no page, requested by id in one run


class _Score(msgspec.Struct, gc=False):
    team_id: int
    place: int


class _Event(msgspec.Struct):
    title: str
    time: float
    scores: list[_Score]


class _Team(msgspec.Struct):
    id: int
    name: Annotated[str, msgspec.Meta(max_length=MAX_HANDLE)]


class _Page(msgspec.Struct):
    result: list[_Team]


class CTFtime(Site):
    name = "ctftime"
    base_url = HOME
    interval_seconds = 1.0
    kinds = ("results",)
    name_kinds = ("teams", "team")

    def list_documents(self, fetcher: ListFetcher, since: int | None, now: int) -> Iterator[DocumentRequest]:
        """A document for each year; that of the current year is open-ended."""
        this = datetime.fromtimestamp(now, UTC).year
        first = (
            FIRST_YEAR if since is None else max(FIRST_YEAR, datetime.fromtimestamp(min(max(since, 0), now), UTC).year)
        )
        for year in range(first, this + 1):
            end = int(datetime(year + 1, 1, 1, tzinfo=UTC).timestamp())
            yield DocumentRequest(Key("results", str(year)), f"api/v1/results/{year}/", end, open_ended=year == this)

    def follow_up(self, responses: Responses) -> Iterator[DocumentRequest]:
        """Further pages of teams, if a run was interrupted there or teams have no name yet; then single teams."""
        pages = sorted(int(key.name) for key in responses.keys("teams"))
        last = self._page(responses.read(Key("teams", str(pages[-1])))) if pages else None
        stopped = last is None or len(last) == PAGE
        if not stopped and not self._nameless(responses):
            return
        offset = 0 if last is None else pages[-1] + PAGE * stopped
        while True:
            key = Key("teams", str(offset))
            yield DocumentRequest(key, f"api/v1/teams/?limit={PAGE}&offset={offset}", 0)
            if key not in responses.keys("teams") or len(self._page(responses.read(key))) < PAGE:
                break
            offset += PAGE
        for team in self._nameless(responses)[:SINGLE_TEAMS]:
            # The response for a deleted team is a 404; it is not requested again.
            yield DocumentRequest(Key("team", str(team)), f"api/v1/teams/{team}/", 0, accept=frozenset({200, 404}))

    def parse(self, document: Document) -> Iterable[Contest | SourceError]:
        """The events of a year that have results; players are team ids."""
        if document.key.kind in self.name_kinds:
            self.names(document)
            return []
        year = self.decode(dict[str, _Event], document)
        return [self._event(event, results, document) for event, results in year.items() if results.scores]

    def names(self, document: Document) -> Mapping[str, str]:
        """Names of teams by id."""
        if document.response.status == 404:
            return {}
        teams = self._page(document) if document.key.kind == "teams" else [self.decode(_Team, document)]
        return {str(team.id): team.name for team in teams}

    def _page(self, document: Document) -> list[_Team]:
        return self.decode(_Page, document).result

    def _nameless(self, responses: Responses) -> list[int]:
        """Ids of teams in the results without a name and without a 404."""
        known = {int(key.name) for key in responses.keys("team")}
        for key in responses.keys("teams"):
            known.update(team.id for team in self._page(responses.read(key)))
        played: set[int] = set()
        for key in responses.keys("results"):
            for event in self.decode(dict[str, _Event], responses.read(key)).values():
                played.update(score.team_id for score in event.scores)
        return sorted(played - known)

    def _event(self, event: str, results: _Event, document: Document) -> Contest | SourceError:
        if (at := first(results.scores, lambda score: score.place < 1)) is not None:
            return self.fault(document, event)(f"place = {results.scores[at].place}; places count from 1", at)
        teams = [str(score.team_id) for score in results.scores]
        places = [score.place for score in results.scores]
        url, time = f"{HOME}event/{event}", int(results.time)
        return self.contest(document, results.title, url, time, teams, places, event)
