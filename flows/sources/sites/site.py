"""What a site is to us: a list of what it has, and a way to read each answer. Nothing here asks or stores anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels.core.standings import places_from_ranks
from ranklake.storage.datasets.contests import Contest

from ..base import SourceError, shown
from .documents import Document, Key

__all__ = ["SITES", "Answers", "Ask", "Site", "Wanted", "contest_of", "decode", "find_site", "misfit"]

SITES = {
    "codeforces": "Codeforces",
    "ctftime": "CTFtime",
    "topcoder": "TopCoder",
    "atcoder": "AtCoder",
    "dmoj": "DMOJ",
    "lichess": "Lichess",
}

T = TypeVar("T")

LATEST = 253_402_300_799  # the last second of the year 9999


@dataclass(frozen=True, slots=True)
class Wanted:
    """A document that a site has.

    Attributes
    ----------
    key : Key
        What it is about.
    path : str
        Where it is, below the base URL, or an address of its own.
    end_seconds : int
        When what it tells of was over, UTC: while that is not long ago, it may still change.
    about : dict
        What the list tells and the document does not, to be kept with it. If that changes, it is asked for again.
    accept : Collection[int]
        HTTP statuses that are answers.
    growing : bool
        It is not over yet and asked for every time.
    """

    key: Key
    path: str
    end_seconds: int
    about: dict[str, Any] = field(default_factory=dict)
    accept: Collection[int] = frozenset({200})
    growing: bool = False


class Ask(Protocol):
    """Ask a site for a list; what cannot be read is kept and is an error."""

    def __call__(self, key: Key, path: str, read: Callable[[Document], T]) -> T:
        """What ``read`` makes of the answer at ``path``."""

    def about(self, key: Key) -> dict[str, Any] | None:
        """What is kept with a document that was asked for before; None if there is none."""


class Answers(Protocol):
    """What was answered so far."""

    def keys(self, *kinds: str) -> list[Key]:
        """What there are answers about."""

    def read(self, key: Key) -> Document:
        """The newest answer."""


class Site(Protocol):
    """A site with contests.

    Attributes
    ----------
    name : str
        As the commands call it.
    base_url : str
        Where it is.
    interval_seconds, pause_seconds : float
        Least time between two requests, and after a 429.
    kinds : tuple of str
        Kinds of documents that hold contests.
    name_kinds : tuple of str
        Kinds of documents that hold names; if there are any, the players of contests are ids.
    version : int
        From 1; changes when answers are read in another way: then all are read again.
    """

    name: str
    base_url: str
    interval_seconds: float
    pause_seconds: float
    kinds: tuple[str, ...]
    name_kinds: tuple[str, ...]
    version: int

    def wanted(self, ask: Ask, since: int | None, now: int) -> Iterator[Wanted]:
        """Everything that is over, or all that ended at ``since`` (UTC seconds) or later, in order of time."""

    def then(self, answers: Answers, news: bool) -> Iterator[Wanted]:
        """What else is wanted, now that all that is over was answered; ``news`` says whether any of it is new.

        Each is asked for before the next one is drawn.
        """

    def parse(self, document: Document) -> Iterable[Contest | SourceError]:
        """The contests of a document; one with a fault is its error, as a value.

        Raises
        ------
        SourceError
            The document as a whole is not what it should be; names URL, field and value.
        """

    def names(self, document: Document) -> Mapping[str, str]:
        """Names of players by id, as a document of ``name_kinds`` has them."""


def find_site(name: str, base_url: str | None = None, **choices: Any) -> Site:
    """The site of a name.

    Parameters
    ----------
    base_url
        Where it is; by default its own address.
    choices
        What the site can be told beside.

    Raises
    ------
    ValueError
        There is none; names those there are.
    """
    if name not in SITES:
        raise ValueError(f"source must be one of {', '.join(SITES)}, got {name!r}")
    site: Site = getattr(import_module(f"ranklake.flows.sources.sites.{name}"), SITES[name])(**choices)
    if base_url is not None:
        site.base_url = base_url
    return site


def decode(decoder: msgspec.json.Decoder[T], document: Document, source: str, body: bytes | None = None) -> T:
    """The body of a document, or a part of it, as its declared model.

    Raises
    ------
    SourceError
        It is something else; names URL, field and value.
    """
    body = document.answer.body if body is None else body
    try:
        try:
            return decoder.decode(body)
        except msgspec.ValidationError as error:
            # What follows the value that does not fit has not been read: it may be no JSON.
            rule = misfit(error, msgspec.json.decode(body))
    except msgspec.DecodeError as error:
        page = body.lstrip()[:1] == b"<"
        rule = f"a web page where data should be: {_start(body)}" if page else f"not JSON: {error}: {_start(body)}"
    except UnicodeDecodeError as error:
        rule = f"not UTF-8: byte 0x{error.object[error.start]:02x}, {error.reason}"
    except RecursionError:
        rule = "not JSON that can be read: nested too deeply"
    raise SourceError(rule, source, "", document.answer.url)


def misfit(error: msgspec.ValidationError, data: Any) -> str:
    """What does not fit a model, in words: where, and what is there."""
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
    return f"{words} at {path.removeprefix('$').lstrip('.') or 'the top'}, got {shown(value)}"


def contest_of(
    fault: Callable[..., SourceError],
    contest_id: str,
    name: str,
    url: str,
    time_seconds: int,
    handles: list[str],
    ranks: npt.ArrayLike,
) -> Contest | SourceError:
    """A contest of names and their ranks, in any order; equal ranks tie. A fault is an error, as a value.

    ``fault`` makes the error of a rule and rows, as :class:`SourceError` counts them.
    """
    if not handles:
        return fault("nobody took part")
    if not 0 < time_seconds <= LATEST:
        return fault(f"{time_seconds} s is no time")
    if len(set(handles)) < len(handles):
        first: dict[str, int] = {}
        for row, handle in enumerate(handles):
            if first.setdefault(handle, row) != row:
                return fault(f"player {shown(handle)} stands twice", first[handle], row)
    if "" in handles:
        return fault("a player needs a name, got an empty one", handles.index(""))
    order, lo, hi = places_from_ranks(ranks)
    players = pa.array(handles, pa.string())
    if np.any(order[1:] < order[:-1]):
        players = players.take(pa.array(order))
    return Contest(contest_id, name, url, time_seconds, players, lo, hi)


def _start(body: bytes) -> str:
    return shown(body[:200].decode("utf-8", "replace").strip())
