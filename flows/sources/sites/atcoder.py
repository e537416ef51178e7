"""AtCoder: the places of all rated participants of each contest.

The site has no list of contests for programs; AtCoder Problems (kenkoooo.com) has one. Marathons, whose names begin
with ``ahc``, have separate ratings at the site and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from urllib.parse import quote

import msgspec

from ranklake.storage.datasets.tables.contests import Contest

from ..base import SourceError
from .documents import Document, Key
from .site import DocumentRequest, ListFetcher, Site, first

HOME = "https://atcoder.jp/"
LIST_HOST = "https://kenkoooo.com/"
LIST_PATH = "atcoder/resources/contests.json"
UNRATED = "-"


class _Listed(msgspec.Struct):
    id: str
    start_epoch_second: int
    duration_second: int
    title: str
    rate_change: str


class _Row(msgspec.Struct, gc=False):
    rated: bool = msgspec.field(name="IsRated")
    place: int = msgspec.field(name="Place")
    user: str = msgspec.field(name="UserScreenName")


class AtCoder(Site):
    name = "atcoder"
    base_url = HOME
    interval_seconds = 1.5
    kinds = ("results",)

    def list_documents(self, fetcher: ListFetcher, since: int | None, now: int) -> Iterator[DocumentRequest]:
        """Contests that have ended and were announced as rated."""
        host = LIST_HOST if self.base_url == HOME else ""  # a mirror also has the list
        listed = fetcher.fetch_list(Key("list", "contests"), host + LIST_PATH, partial(self.decode, list[_Listed]))
        for contest in sorted(listed, key=lambda contest: (contest.start_epoch_second, contest.id)):
            end = contest.start_epoch_second + contest.duration_second
            marathon = contest.id.startswith("ahc")
            if contest.rate_change != UNRATED and not marathon and end <= now and (since is None or end >= since):
                about = {"name": contest.title, "time_seconds": end}
                yield DocumentRequest(
                    Key("results", contest.id), f"contests/{quote(contest.id, safe='')}/results/json", end, about
                )

    def parse(self, document: Document) -> Iterable[Contest | SourceError]:
        """One contest of the rated participants; none if there are none yet."""
        rows = self.decode(list[_Row], document)
        if (at := first(rows, lambda row: row.place < 1)) is not None:
            return [self.fault(document)(f"Place = {rows[at].place}; places count from 1", at)]
        rated = [row for row in rows if row.rated]
        if not rated:
            return []
        url = f"{HOME}contests/{quote(document.key.name, safe='')}/standings"
        handles, places = [row.user for row in rated], [row.place for row in rated]
        return [self.contest(document, document.about["name"], url, document.about["time_seconds"], handles, places)]
