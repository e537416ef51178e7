"""TopCoder: the files of its closed data feed: a list of rounds, and the results of each.

Source: the feed's ``dd_round_list`` and ``dd_round_results``, XML in ISO-8859-1, kept in a folder or behind an address
as ``dd_round_list.xml`` and ``dd_round_results_rd=ROUND.xml``. The two divisions of a round solve different problems:
each is a contest. Players are coder ids; their names are those of their latest row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar
from xml.etree import ElementTree

import msgspec

from ranklake.storage.datasets.tables.contests import Contest

from ...common.text import quoted
from ..base import SourceError
from ..limits import MAX_HANDLE
from .documents import Document, Key
from .results import SiteProblem, SiteResults
from .site import DocumentRequest, ListFetcher, Site, describe_mismatch

T = TypeVar("T")
_FIELDS = ("problem_id", "submission_points", "final_points")


class _Round(msgspec.Struct):
    round_id: int
    full_name: str
    date: str


class _Result(msgspec.Struct):
    coder_id: int
    handle: Annotated[str, msgspec.Meta(max_length=MAX_HANDLE)]
    division: int
    final_points: float
    rated_flag: int


class _Solved(msgspec.Struct):
    """The problems of a row; the feed has numbers or nothing."""

    coder_id: int
    division: int
    level_one_problem_id: str = ""
    level_one_submission_points: str = ""
    level_one_final_points: str = ""
    level_two_problem_id: str = ""
    level_two_submission_points: str = ""
    level_two_final_points: str = ""
    level_three_problem_id: str = ""
    level_three_submission_points: str = ""
    level_three_final_points: str = ""


class TopCoder(Site):
    name = "topcoder"
    base_url = ""  # the feed is closed: the folder of its files must be given
    interval_seconds = 1.0
    kinds = name_kinds = result_kinds = ("round",)

    def list_documents(self, fetcher: ListFetcher, since: int | None, now: int) -> Iterator[DocumentRequest]:
        """All rounds of the list; a round without a file has no results."""
        rounds = fetcher.fetch_list(Key("list", "rounds"), "dd_round_list.xml", self._read_list)
        for time, listed in sorted(rounds, key=lambda pair: (pair[0], pair[1].round_id)):
            if since is None or time >= since:
                about = {"name": listed.full_name, "time_seconds": time}
                path = f"dd_round_results_rd={listed.round_id}.xml"
                yield DocumentRequest(Key("round", str(listed.round_id)), path, time, about, frozenset({200, 404}))

    def parse(self, document: Document) -> Iterable[Contest | SourceError]:
        """A contest for each division with rated participants."""
        rows = self._results(document)
        round_id, about = document.key.name, document.about
        for division in sorted({row.division for row in rows if row.rated_flag == 1}):
            # The first row of a coder counts, in whatever division.
            first = {row.coder_id: row for row in reversed(rows)}
            participants = [row for row in first.values() if row.rated_flag == 1 and row.division == division]
            participants.sort(key=lambda row: (-row.final_points, row.coder_id))
            yield self.contest(
                document,
                f"{about['name']}, Division {division}",
                f"https://community.topcoder.com/stat?c=round_overview&rd={round_id}",
                about["time_seconds"],
                [str(row.coder_id) for row in participants],
                [-row.final_points for row in participants],
                f"{round_id}-{division}",
            )

    def results(self, document: Document) -> Iterable[SiteResults | SourceError]:
        """The results of each division: who submitted a problem, and whether points were left at the end.

        The feed has no time from the start of the round, and no order of problems that both divisions share.
        """
        if document.response.status == 404:
            return
        rows = _rows(document, list[_Solved])
        for division in sorted({row.division for row in rows}):
            contest, here = f"{document.key.name}-{division}", [row for row in rows if row.division == division]
            levels = [
                (row.coder_id, *(getattr(row, f"level_{level}_{field}") for field in _FIELDS))
                for row in here
                for level in ("one", "two", "three")
            ]
            ids = list(dict.fromkeys(problem for _, problem, _, _ in levels if problem))
            found, numbers = (
                SiteResults(contest, [SiteProblem(one) for one in ids]),
                {one: at for at, one in enumerate(ids)},
            )
            try:
                for coder, problem, submitted, final in levels:
                    if problem and (float(submitted or 0.0) > 0.0 or float(final or 0.0) > 0.0):
                        found.add([str(coder)], numbers[problem], 1.0 if float(final or 0.0) > 0.0 else 0.0)
            except ValueError as error:
                yield self.fault(document, contest)(f"the points of a problem must be numbers: {error}")
            else:
                if ids:
                    yield found

    def names(self, document: Document) -> Mapping[str, str]:
        """Handles by coder id."""
        return {str(row.coder_id): row.handle for row in self._results(document)}

    def _results(self, document: Document) -> list[_Result]:
        return [] if document.response.status == 404 else _rows(document, list[_Result])

    def _read_list(self, document: Document) -> list[tuple[int, _Round]]:
        rounds = []
        for row in _rows(document, list[_Round]):
            try:
                # The feed has no time zone; the maintainer of the known archive reads UTC.
                time = datetime.strptime(row.date, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
            except ValueError:
                rule = f"date must be as 2001-04-21 14:00, got {quoted(row.date)} for round {row.round_id}"
                raise SourceError(rule, self.name, "", document.response.url) from None
            rounds.append((int(time.timestamp()), row))
        return rounds


def _rows(document: Document, model: type[T]) -> T:
    """The ``<row>`` elements of a document, as a list of their model."""

    def broken(rule: str) -> SourceError:
        return SourceError(rule, TopCoder.name, "", document.response.url)

    body = document.response.body
    if b"<!" in body:  # the feed declares no entities; a declaration is an attack
        raise broken(f"not the feed's XML: a declaration {quoted(body[body.index(b'<!') :][:40].decode('latin-1'))}")
    try:
        root = ElementTree.fromstring(body)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise broken(f"not XML: {error}: {quoted(body[:200].decode('latin-1').strip())}") from None
    rows: list[dict[str, Any]] = [{field.tag: field.text or "" for field in row} for row in root]
    try:
        return msgspec.convert(rows, model, strict=False)
    except msgspec.ValidationError as error:
        raise broken(f"{describe_mismatch(error, rows)} among the rows of <{root.tag}>") from None
