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
from .site import DocumentRequest, ListFetcher, Site, describe_mismatch

T = TypeVar("T")


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


class TopCoder(Site):
    name = "topcoder"
    base_url = ""  # the feed is closed: the folder of its files must be given
    interval_seconds = 1.0
    kinds = ("round",)
    name_kinds = ("round",)

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
