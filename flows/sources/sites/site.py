"""The interface of a site: a list of its documents and a parser of each. It sends no requests and stores no data."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels.core.standings import places_from_ranks
from ranklake.storage.datasets.tables.contests import Contest
from ranklake.storage.datasets.tables.teams import Teams

from ...common.text import quoted
from ..base import SourceError
from ..columns import Longs
from ..limits import check_contest, fault_of_names
from ..places import Ints
from .documents import Document, Key
from .results import SiteResults

SITES = {
    "codeforces": "Codeforces",
    "codeforces-teams": "CodeforcesTeams",
    "ctftime": "CTFtime",
    "topcoder": "TopCoder",
    "atcoder": "AtCoder",
    "dmoj": "DMOJ",
    "lichess": "Lichess",
}

T = TypeVar("T")
Fault: TypeAlias = Callable[..., SourceError]
"""Makes the error of a contest from a rule and the numbers of the rows that break it."""

LATEST = 253_402_300_799  # the last second of the year 9999


@dataclass(frozen=True, slots=True)
class DocumentRequest:
    """A document that a site has, and how to request it.

    ``path``: path below the base URL, or a full URL.
    ``end_seconds``: end of the events in the document, UTC seconds: for some time after that, the document may still
    change.
    ``about``: data from the site's list that the document itself does not contain; stored with it. If they change, the
    document is requested again.
    ``accept``: HTTP statuses that count as a response.
    ``open_ended``: whether the events have not ended yet: the document is requested in every run.
    """

    key: Key
    path: str
    end_seconds: int
    about: dict[str, Any] = field(default_factory=dict)
    accept: Collection[int] = frozenset({200})
    open_ended: bool = False


class ListFetcher(Protocol):
    """Requests lists from a site; a list that cannot be read is stored and raises an error."""

    def fetch_list(self, key: Key, path: str, read: Callable[[Document], T]) -> T:
        """The result of ``read`` for the response at ``path``."""

    def about(self, key: Key) -> dict[str, Any] | None:
        """The data from the list that are stored with a document; None if there is no document."""


class Responses(Protocol):
    """The responses stored so far."""

    def keys(self, *kinds: str) -> list[Key]:
        """Keys of all stored documents of these kinds."""

    def read(self, key: Key) -> Document:
        """The newest response for a key."""

    def is_ok(self, key: Key) -> bool:
        """Whether the newest response for a key has the status 200."""


class Site(ABC):
    """A site with contests: a subclass lists its documents and parses each of them.

    ``interval_seconds``, ``pause_seconds``: minimum time between two requests, and after a 429.
    ``kinds``: kinds of documents that hold contests.
    ``name_kinds``: kinds of documents that hold player names; if there are any, contests have ids of players.
    ``result_kinds``: kinds of documents that hold results of problems.
    ``version``, ``results_version``: version of the parser of contests, and of results, from 1; when it changes, all
    responses are parsed again.
    """

    name: str
    base_url: str
    interval_seconds: float
    pause_seconds: float = 30.0
    kinds: tuple[str, ...]
    name_kinds: tuple[str, ...] = ()
    result_kinds: tuple[str, ...] = ()
    version: int = 1
    results_version: int = 1

    @abstractmethod
    def list_documents(self, fetcher: ListFetcher, since: int | None, now: int) -> Iterator[DocumentRequest]:
        """Requests for all contests that ended before ``now`` and not before ``since`` (UTC seconds), by time."""

    def follow_up(self, responses: Responses) -> Iterator[DocumentRequest]:
        """Requests that depend on the responses, by default none.

        Each request is sent before the next one is drawn.
        """
        yield from ()

    @abstractmethod
    def parse(self, document: Document) -> Iterable[Contest | SourceError]:
        """The contests of a document; a contest with a fault is its error, as a value.

        Raises SourceError: the whole document is invalid; names URL, field and value.
        """

    def names(self, document: Document) -> Mapping[str, str]:
        """Player names by id in a document of ``name_kinds``."""
        return {}

    def results(self, document: Document) -> Iterable[SiteResults | SourceError]:
        """The results of problems in a document of ``result_kinds``, of one contest each; those with a fault are its
        error, as a value.

        Raises SourceError: the whole document is invalid; names URL, field and value.
        """
        return ()

    def fault(self, document: Document, contest_id: str | None = None) -> Fault:
        """Makes the errors of a contest in a document; its id is by default the document's name."""

        contest = document.key.name if contest_id is None else contest_id
        return lambda rule, *rows: SourceError(rule, self.name, contest, document.response.url, rows)

    def decode(self, model: type[T], document: Document, body: bytes | None = None) -> T:
        """The body of a document, or a part of it, as its declared model.

        Raises SourceError: the body does not fit the model; names URL, field and value.
        """
        body = document.response.body if body is None else body
        try:
            try:
                return msgspec.json.decode(body, type=model)
            except msgspec.ValidationError as error:
                # The text after the mismatch was not read yet: it may be no JSON.
                rule = describe_mismatch(error, msgspec.json.decode(body))
        except msgspec.DecodeError as error:
            page = body.lstrip()[:1] == b"<"
            rule = f"a web page where data should be: {_start(body)}" if page else f"not JSON: {error}: {_start(body)}"
        except UnicodeDecodeError as error:
            rule = f"not UTF-8: byte 0x{error.object[error.start]:02x}, {error.reason}"
        except RecursionError:
            rule = "not JSON that can be read: nested too deeply"
        raise SourceError(rule, self.name, "", document.response.url)

    def decode_lines(self, model: type[T], document: Document) -> list[T]:
        """The lines of a document, each as its declared model."""
        lines = [line for line in document.response.body.split(b"\n") if line.strip()]
        return [self.decode(model, document, line) for line in lines]

    def contest(
        self,
        document: Document,
        name: str,
        url: str,
        time_seconds: int,
        handles: list[str],
        ranks: npt.ArrayLike,
        contest_id: str | None = None,
        rosters: Sequence[tuple[str | None, int]] | None = None,
        rated: npt.NDArray[np.bool_] | None = None,
    ) -> Contest | SourceError:
        """A contest of handles and their ranks, in any order; equal ranks tie. A fault is returned as an error.

        ``rosters``: for each rank the name of the team, None for an individual, and the number of its members among the
        handles.
        ``rated``: whether the rating of each handle may change; None for all. Not with rosters.
        """
        fault, contest_id = self.fault(document, contest_id), document.key.name if contest_id is None else contest_id
        if not handles:
            return fault("it has no participants")
        if not 0 < time_seconds <= LATEST:
            return fault(f"{time_seconds} s is no time")
        if found := fault_of_names(handles):
            return fault(found[0], *found[1])
        order, lo, hi = places_from_ranks(ranks)
        teams = None
        if rosters is not None:
            order, lo, hi, teams = _with_members(rosters, order, lo, hi)
        players = pa.array(handles, pa.string())
        if np.any(order[1:] < order[:-1]):
            players = players.take(pa.array(order))
        rated = None if rated is None or rated.all() else rated[order]
        contest = Contest(contest_id, name, url, time_seconds, players, lo, hi, teams=teams, rated=rated)
        if too_long := check_contest(contest, rows=order):
            return fault(too_long.rule, *too_long.rows)
        return contest


def find_site(name: str, base_url: str | None = None, **choices: Any) -> Site:
    """The site with a name, at another address if one is given; ``ValueError``, with the known names, for another."""
    if name not in SITES:
        raise ValueError(f"source must be one of {', '.join(SITES)}, got {name!r}")
    site: Site = getattr(import_module(f"ranklake.flows.sources.sites.{name.replace('-', '_')}"), SITES[name])(
        **choices
    )
    if base_url is not None:
        site.base_url = base_url
    return site


def describe_mismatch(error: msgspec.ValidationError, data: Any) -> str:
    """A validation error in words: the path and the value there."""
    words, _, path = str(error).partition(" - at ")
    path = path.strip("`")
    value = data
    for step, index in re.findall(r"\.([^.\[]+)|\[(\d+)\]", path):
        try:
            value = value[int(index)] if index else value[step]
        except (KeyError, IndexError, TypeError):
            break
    words = words.replace("`", "")
    if len(words) > 120:  # an invalid value is repeated in full
        words = f"{words[:116]}..."
    return f"{words} at {path.removeprefix('$').lstrip('.') or 'the top'}, got {quoted(value)}"


def _start(body: bytes) -> str:
    return quoted(body[:200].decode("utf-8", "replace").strip())


def _with_members(
    rosters: Sequence[tuple[str | None, int]], order: Longs, lo: Ints, hi: Ints
) -> tuple[Longs, Ints, Ints, Teams | None]:
    """The order and the places of teams as those of their members, and the team of each."""
    sizes = np.array([n for _, n in rosters])[order]
    ends = np.cumsum(sizes)
    lo, hi = np.repeat(lo, sizes), np.repeat(hi, sizes)
    team = pa.array([rosters[at][0] for at in order.tolist()], pa.string())
    teams = Teams(team.take(pa.array(np.repeat(np.arange(len(sizes)), sizes))), np.ones(len(lo)))
    begins = np.cumsum([0, *(n for _, n in rosters)])[order]  # first handle of each team, in order of place
    return np.repeat(begins - (ends - sizes), sizes) + np.arange(len(lo)), lo, hi, teams.part(0, len(lo))


def first(rows: Sequence[T], wrong: Callable[[T], bool]) -> int | None:
    """The number of the first wrong row, from 0; None if there is none."""
    return next((at for at, row in enumerate(rows) if wrong(row)), None)
