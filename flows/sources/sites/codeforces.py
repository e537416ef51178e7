"""Codeforces: the list of contests, then the ranks in each rated contest.

Source: codeforces.com/apiHelp. A response is ``{"status": "OK", "result": ...}`` or ``{"status": "FAILED", "comment":
...}``. The rules for single contests are those of the authors of the Elo-MMR paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import msgspec
import numpy as np

from ranklake.storage.datasets.tables.contests import Contest

from ...common.text import quoted
from ..base import SourceError
from .codeforces_standings import HOME, STANDINGS, ResultsOfStandings, results_of
from .documents import Document, Key
from .results import SiteResults
from .site import DocumentRequest, ListFetcher, Responses, Site, first

# Rounds of teams: their rating changes do not name the teams, see codeforces_teams.
TEAM_ROUNDS = frozenset(
    {524, 532, 541, 562, 566, 639, 641, 643, 695, 771, 772, 773, 823, 923, 924, 925, 951}
)  # fmt: skip
# One row of these has another time than the rest, usually by four hours.
ODD_TIMES = frozenset({61, 318, 347, 373, 381, 400, 404, 405})
# A player is listed twice in these: the second entry becomes NAME_clone, as in the authors' data set.
DOUBLES = frozenset({447, 472, 615})
RATED = "rating-changes"


class _Listed(msgspec.Struct):
    id: int
    phase: str
    duration: int = msgspec.field(name="durationSeconds")
    start: int | None = msgspec.field(name="startTimeSeconds", default=None)


class _Change(msgspec.Struct, gc=False):
    contest: int = msgspec.field(name="contestId")
    title: str = msgspec.field(name="contestName")
    handle: str
    rank: int
    time: int = msgspec.field(name="ratingUpdateTimeSeconds")


class _List(msgspec.Struct, tag_field="status", tag="OK"):
    result: list[_Listed]


class _Changes(msgspec.Struct, tag_field="status", tag="OK"):
    result: list[_Change]


class _Failed(msgspec.Struct, tag_field="status", tag="FAILED"):
    comment: str


class Codeforces(Site):
    """``results``: request the standings of each rated contest, too, for the results of problems."""

    name = "codeforces"
    base_url = HOME
    interval_seconds = 2.0  # "the service allows about one call in two seconds"
    kinds = (RATED,)
    result_kinds = (STANDINGS,)

    def __init__(self, results: bool = False) -> None:
        self._standings: list[DocumentRequest] | None = [] if results else None

    def list_documents(self, fetcher: ListFetcher, since: int | None, now: int) -> Iterator[DocumentRequest]:
        """Contests that have ended; only the response for each says whether it was rated."""
        for number, end in self._list_ended(fetcher, since):
            if number not in TEAM_ROUNDS:
                path = f"api/contest.ratingChanges?contestId={number}"
                # The response for an unrated contest is a 400.
                yield DocumentRequest(Key(RATED, str(number)), path, end, accept=frozenset({200, 400}))
                if self._standings is None:
                    continue
                path = f"api/contest.standings?contestId={number}&showUnofficial=false"
                standings = DocumentRequest(Key(STANDINGS, str(number)), path, end, accept=frozenset({200, 400}))
                if fetcher.about(standings.key) is None:
                    self._standings.append(standings)
                else:
                    yield standings

    def follow_up(self, responses: Responses) -> Iterator[DocumentRequest]:
        """The standings of rated contests, if results of problems are wanted."""
        rated = set(responses.keys(RATED))
        for request in self._standings or ():
            key = Key(RATED, request.key.name)
            if key in rated and responses.is_ok(key):
                yield request

    def parse(self, document: Document) -> Iterable[Contest | SourceError]:
        """One contest, or none if it was not rated; standings have none."""
        if document.key.kind == STANDINGS:
            self._result(ResultsOfStandings, document, may_be_none=True)
            return []
        rows = self._result(_Changes, document, may_be_none=True)
        if rows is not None and document.response.status != 200:
            raise SourceError(f"HTTP {document.response.status}, and yet OK", self.name, "", document.response.url)
        return [self._contest(rows, document)] if rows else []

    def results(self, document: Document) -> Iterable[SiteResults | SourceError]:
        """The results of one contest; none if the site does not show its standings."""
        standings = self._result(ResultsOfStandings, document, may_be_none=True)
        if standings is None:
            return []
        found = results_of(standings, document.key.name)
        return [self.fault(document)(found) if isinstance(found, str) else found]

    def _list_ended(self, fetcher: ListFetcher, since: int | None) -> Iterator[tuple[int, int]]:
        """Number and end of the contests that have ended, in order of time."""
        listed = fetcher.fetch_list(Key("list", "contests"), "api/contest.list", partial(self._result, _List))
        over = [contest for contest in listed if contest.phase == "FINISHED"]
        for contest in sorted(over, key=lambda contest: (contest.start or 0, contest.id)):
            end = (contest.start or 0) + contest.duration
            if since is None or end >= since:
                yield contest.id, end

    def _result(self, model: Any, document: Document, *, may_be_none: bool = False) -> Any:
        """The result of a response; None, if it may be, for a 400 that says that there is none."""
        response = self.decode(model | _Failed, document)
        if not isinstance(response, _Failed):
            return response.result
        if may_be_none and document.response.status == 400 and "limit" not in response.comment.lower():
            return None
        raise SourceError(f"FAILED: {quoted(response.comment)}", self.name, "", document.response.url)

    def _contest(self, rows: list[_Change], document: Document) -> Contest | SourceError:
        n, number, time, fault = len(rows), int(document.key.name), rows[0].time, self.fault(document)
        ranks = [row.rank for row in rows]
        if (at := first(rows, lambda row: row.contest != number)) is not None:
            return fault(f"contestId = {rows[at].contest} in the response for {number}", at)
        if number not in ODD_TIMES and (at := first(rows, lambda row: row.time != time)) is not None:
            return fault(f"ratingUpdateTimeSeconds = {rows[at].time}, but {time} in the first row", at)
        # A group of equals has the rank of its first position; anything else is broken data.
        if max(ranks) > n or min(ranks) < 1:
            at = ranks.index(max(ranks) if max(ranks) > n else min(ranks))
            return fault(f"rank = {ranks[at]} of {n} participants", at)
        given = np.array(ranks)
        opens = np.flatnonzero(np.diff(given, prepend=given[0] - 1))
        wrong = opens[given[opens] != opens + 1]
        if len(wrong):
            at = int(wrong[0])
            rule = f"rank = {given[at]} at position {at + 1}: a rank must be 1 + the number of better players, sorted"
            return fault(rule, at)
        handles = [row.handle for row in rows]
        if number in DOUBLES:
            handles = _with_clones(handles)
        url = f"{HOME}contest/{number}/standings"
        return self.contest(document, rows[0].title, url, time, handles, given)


def _with_clones(handles: list[str]) -> list[str]:
    """Handles with ``_clone`` appended to repeated ones until they are unique."""
    seen: dict[str, None] = {}
    for handle in handles:
        while handle in seen:
            handle += "_clone"
        seen[handle] = None
    return list(seen)
