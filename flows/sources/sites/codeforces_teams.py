"""Codeforces: rounds in which teams took places, with the members of each team.

Source: codeforces.com/apiHelp, method ``contest.standings``. The rating changes of these rounds do not name teams, so
their official standings are read. Rounds and list are those of :mod:`.codeforces`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ranklake.storage.datasets.tables.contests import Contest

from ..base import SourceError
from .codeforces import TEAM_ROUNDS, Codeforces
from .codeforces_standings import HOME, STANDINGS, Party
from .documents import Document, Key
from .site import DocumentRequest, ListFetcher, first


class _Row(msgspec.Struct, gc=False):
    party: Party
    rank: int


class _Facts(msgspec.Struct):
    id: int
    name: str
    duration: int = msgspec.field(name="durationSeconds")
    start: int = msgspec.field(name="startTimeSeconds")


class _Result(msgspec.Struct):
    contest: _Facts
    rows: list[_Row]


class _Standings(msgspec.Struct, tag_field="status", tag="OK"):
    result: _Result


class CodeforcesTeams(Codeforces):
    name = "codeforces-teams"
    kinds = (STANDINGS,)

    def list_documents(self, fetcher: ListFetcher, since: int | None, now: int) -> Iterator[DocumentRequest]:
        """Rounds of teams that have ended."""
        for number, end in self._list_ended(fetcher, since):
            if number in TEAM_ROUNDS:
                path = f"api/contest.standings?contestId={number}&showUnofficial=false"
                yield DocumentRequest(Key(STANDINGS, str(number)), path, end)

    def parse(self, document: Document) -> Iterable[Contest | SourceError]:
        """One contest, or none without participants."""
        result: _Result = self._result(_Standings, document)
        rows = [row for row in result.rows if row.party.counts]
        return [self._contest_of_teams(result.contest, rows, document)] if rows else []

    def _contest_of_teams(self, facts: _Facts, rows: list[_Row], document: Document) -> Contest | SourceError:
        contest_id, fault = document.key.name, self.fault(document)
        if str(facts.id) != contest_id:
            return fault(f"the response for {contest_id} is of contest {facts.id}")
        if (at := first(rows, lambda row: not row.party.members)) is not None:
            return fault("a party has no members", at)
        if (at := first(rows, lambda row: row.rank < 1)) is not None:
            return fault(f"rank = {rows[at].rank}; ranks count from 1", at)
        handles = [member.handle for row in rows for member in row.party.members]
        rosters = [(name, len(row.party.members)) for name, row in zip(_team_names(rows), rows, strict=True)]
        url, end, ranks = f"{HOME}contest/{contest_id}/standings", facts.start + facts.duration, [r.rank for r in rows]
        return self.contest(document, facts.name, url, end, handles, ranks, rosters=rosters)


def _team_names(rows: list[_Row]) -> list[str | None]:
    """The team of each row, None for a party of one; with its id, or its row, if another one has the name."""
    names: list[str | None] = []
    several: dict[str, int] = {}
    for row in rows:
        name = row.party.name or ""
        several[name] = several.get(name, 0) + (len(row.party.members) > 1)
    for at, row in enumerate(rows):
        name, number = row.party.name or "", row.party.team_id if row.party.team_id is not None else at + 1
        alone = name and several[name] == 1
        names.append((name if alone else f"{name} ({number})".strip()) if len(row.party.members) > 1 else None)
    return names
