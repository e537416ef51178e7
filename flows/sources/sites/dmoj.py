"""DMOJ, and other sites with its software: rated contests by the second version of their API.

A response is ``{"data": ...}`` or ``{"error": ...}``. Rated participants have a ``new_rating``; the others are unrated,
and not in the field of the rated ones. Their order is that of the site: by score, then time, then tie-breaker;
disqualified participants are last, and left out without a rating.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import count
from math import nan
from urllib.parse import quote

import msgspec
import numpy as np

from ranklake.storage.datasets.tables.contests import Contest

from ...common.text import quoted
from ..base import SourceError
from .documents import Document, Key
from .results import SiteProblem, SiteResults
from .site import DocumentRequest, ListFetcher, Site

HOME = "https://dmoj.ca/"
MAX_PAGES = 1000  # of the list; a page has a hundred contests, and the site some thousand in all


class _Listed(msgspec.Struct):
    key: str
    end_time: datetime


class _Page(msgspec.Struct):
    objects: list[_Listed]
    has_more: bool | None = None
    total_pages: int | None = None


class _Row(msgspec.Struct, gc=False):
    user: str
    score: float
    cumulative_time: float
    tiebreaker: float = 0.0
    new_rating: int | None = None
    is_disqualified: bool = False


class _Contest(msgspec.Struct):
    key: str
    name: str
    end_time: datetime
    rankings: list[_Row]


class _Object(msgspec.Struct):
    object: _Contest


class _Problem(msgspec.Struct):
    code: str
    points: float
    name: str | None = None


class _Solution(msgspec.Struct, gc=False):
    points: float | None = None
    time: float | None = None


class _Solver(msgspec.Struct, gc=False):
    user: str
    solutions: list[_Solution | None] = []


class _Solved(msgspec.Struct):
    rankings: list[_Solver]
    problems: list[_Problem] = []


class _Fault(msgspec.Struct):
    message: str = ""


class _List(msgspec.Struct):
    data: _Page


class _One(msgspec.Struct):
    data: _Object | None = None
    error: _Fault | None = None


class _SolvedObject(msgspec.Struct):
    object: _Solved


class _OneSolved(msgspec.Struct):
    data: _SolvedObject | None = None


class DMOJ(Site):
    name = "dmoj"
    base_url = HOME
    interval_seconds = 0.7  # "90 requests a minute"
    kinds = result_kinds = ("contest",)
    version = 2

    def list_documents(self, fetcher: ListFetcher, since: int | None, now: int) -> Iterator[DocumentRequest]:
        """Rated contests that have ended."""
        listed: dict[str, int] = {}
        for page in count(1):
            path = f"api/v2/contests?is_rated=True&page={page}"
            found = fetcher.fetch_list(Key("list", f"page-{page}"), path, self._read_page)
            before, address = len(listed), f"{self.base_url.rstrip('/')}/{path}"
            listed.update((contest.key, int(contest.end_time.timestamp())) for contest in found.objects)
            more = found.has_more if found.has_more is not None else page < (found.total_pages or 0)
            if not more or not found.objects:
                break
            # Contests that are added meanwhile shift the others by a few positions, never by a whole page.
            if len(listed) == before:
                raise SourceError(
                    f"nothing new on page {page} of the list, and yet more pages", self.name, member=address
                )
            if page == MAX_PAGES:
                raise SourceError(f"more than {MAX_PAGES:,} pages of the list", self.name, member=address)
        for key, end in sorted(listed.items(), key=lambda item: (item[1], item[0])):
            if end <= now and (since is None or end >= since):
                # Private contests are refused.
                path = f"api/v2/contest/{quote(key, safe='')}"
                yield DocumentRequest(Key("contest", key), path, end, accept=frozenset({200, 403, 404}))

    def parse(self, document: Document) -> Iterable[Contest | SourceError]:
        """One contest; none if it has no rated participants yet, or if it is private."""
        response = self.decode(_One, document)
        url = document.response.url
        if response.data is None:
            if document.response.status == 200 or response.error is None:
                reason = quoted(response.error.message) if response.error else "neither data nor error"
                raise SourceError(f"HTTP {document.response.status}: {reason}", self.name, "", url)
            return []
        found, asked = response.data.object, document.key.name
        if found.key != asked:
            return [self.fault(document)(f"key = {quoted(found.key)} in the response for {quoted(asked)}")]
        if all(row.new_rating is None for row in found.rankings):
            return []
        shown = [row for row in found.rankings if row.new_rating is not None or not row.is_disqualified]
        merits = [(row.is_disqualified, -row.score, row.cumulative_time, row.tiebreaker) for row in shown]
        ranks = {merit: rank for rank, merit in enumerate(sorted(set(merits)))}
        handles, rated = [row.user for row in shown], np.array([row.new_rating is not None for row in shown])
        page = f"{HOME}contest/{quote(found.key, safe='')}"
        end = int(found.end_time.timestamp())
        places = [ranks[merit] for merit in merits]
        return [self.contest(document, found.name, page, end, handles, places, rated=rated)]

    def results(self, document: Document) -> Iterable[SiteResults | SourceError]:
        """The results of one contest; none of a private one, or of a site that shows no problems.

        A solution without points has not been judged. Times count from when the participant began, as the site's do.
        """
        response = self.decode(_OneSolved, document)
        if response.data is None or not response.data.object.problems:
            return []
        solved, contest = response.data.object, document.key.name
        address = f"{HOME}problem/"
        problems = [
            SiteProblem(one.code, one.name or None, address + quote(one.code, safe=""), at + 1, None, one.points)
            for at, one in enumerate(solved.problems)
        ]
        found = SiteResults(contest, problems)
        for at, row in enumerate(solved.rankings):
            if len(row.solutions) != len(problems):
                rule = f"{len(row.solutions)} solutions, and the contest has {len(problems)} problems"
                return [self.fault(document)(rule, at)]
            for number, (solution, problem) in enumerate(zip(row.solutions, solved.problems, strict=True)):
                if solution is not None:
                    points = solution.points or 0.0
                    share = points / problem.points if points and problem.points else points
                    known = points > 0.0 and solution.time is not None and solution.time >= 0.0
                    found.add([row.user], number, share, solution.time or 0.0 if known else nan)
        return [found]

    def _read_page(self, document: Document) -> _Page:
        page = self.decode(_List, document).data
        if page.has_more is None and page.total_pages is None:
            raise SourceError("neither has_more nor total_pages at data", self.name, "", document.response.url)
        return page
