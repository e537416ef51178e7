"""What a site is to us: a list of what it has, and a way to read each answer. Nothing here asks or stores anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol, TypeVar

import msgspec
import numpy.typing as npt
import pyarrow as pa

from flows.raw import Document, Key
from flows.sources.base import SourceError, shown
from rating_kernels.standings import places_from_ranks
from storage.contests import Contest

__all__ = ["SITES", "Ask", "Site", "Wanted", "contest_of", "decode", "find_site"]

SITES = {"codeforces": "Codeforces"}

T = TypeVar("T")


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
    """

    key: Key
    path: str
    end_seconds: int
    about: dict[str, Any] = field(default_factory=dict)
    accept: Collection[int] = frozenset({200})


class Ask(Protocol):
    """Ask a site for a list; what cannot be read is kept and is an error."""

    def __call__(self, key: Key, path: str, read: Callable[[Document], T]) -> T:
        """What ``read`` makes of the answer at ``path``."""


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
    version : int
        From 1; changes when answers are read in another way: then all are read again.
    """

    name: str
    base_url: str
    interval_seconds: float
    pause_seconds: float
    kinds: tuple[str, ...]
    version: int

    def wanted(self, ask: Ask, since: int | None) -> Iterator[Wanted]:
        """Everything that is over, or all that ended at ``since`` (UTC seconds) or later, in order of time."""

    def parse(self, document: Document) -> Iterable[Contest | SourceError]:
        """The contests of a document; one with a fault is its error, as a value.

        Raises
        ------
        SourceError
            The document as a whole is not what it should be; names URL, field and value.
        """


def find_site(name: str) -> Site:
    """The site of a name.

    Raises
    ------
    ValueError
        There is none; names those there are.
    """
    if name not in SITES:
        raise ValueError(f"source must be one of {', '.join(SITES)}, got {name!r}")
    site: Site = getattr(import_module(f"flows.sources.{name}"), SITES[name])()
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
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        words, _, path = str(error).partition(" - at ")
        path = path.strip("`")
        rule = (
            f"{words.replace('`', '')} at {path.removeprefix('$').lstrip('.') or 'the top'}, got {_value(body, path)}"
        )
    except msgspec.DecodeError as error:
        page = body.lstrip()[:1] == b"<"
        rule = f"a web page where data should be: {_start(body)}" if page else f"not JSON: {error}: {_start(body)}"
    except UnicodeDecodeError as error:
        rule = f"not UTF-8: byte 0x{error.object[error.start]:02x}, {error.reason}"
    except RecursionError:
        rule = "not JSON that can be read: nested too deeply"
    raise SourceError(rule, source, "", document.answer.url)


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
    if len(set(handles)) < len(handles):
        first: dict[str, int] = {}
        for row, handle in enumerate(handles):
            if first.setdefault(handle, row) != row:
                return fault(f"player {shown(handle)} stands twice", first[handle], row)
    if "" in handles:
        return fault("a player needs a name, got an empty one", handles.index(""))
    order, lo, hi = places_from_ranks(ranks)
    return Contest(contest_id, name, url, time_seconds, pa.array(handles, pa.string()).take(pa.array(order)), lo, hi)


def _value(body: bytes, path: str) -> str:
    """The value at a path as msgspec tells it, for a message."""
    try:
        value: Any = msgspec.json.decode(body)
    except RecursionError:
        return "what is nested too deeply"
    for step, index in re.findall(r"\.([^.\[]+)|\[(\d+)\]", path):
        try:
            value = value[int(index)] if index else value[step]
        except (KeyError, IndexError, TypeError):
            return "nothing"
    return shown(value)


def _start(body: bytes) -> str:
    return shown(body[:200].decode("utf-8", "replace").strip())
