"""Addresses of the pages, relative to the page that has them, so that a site works at any address; names and dates.

``player``, ``contest`` and ``group`` are the pages of one thing, ``leaderboard`` and ``contests`` a page of these, from
0, and ``page`` one of the others by its name: ``contests``, ``distribution``, ``groups``,
``problems``, ``compare``. The scripts are
told what ``data`` they read, and the ``root`` of their addresses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, TypeAlias
from urllib.parse import quote, urlencode
from zlib import crc32

from ..common.text import slug, visible
from ..common.times import utc
from .files import static_digest

LONGEST_NAME = 80  # characters of a handle or of a contest's name on a page; data.js has the same
MOST_DAYS = 1 << 16  # in memory as texts: 180 years
CARD, FEED, MANIFEST = "card.png", "feed.atom", "manifest.webmanifest"  # names of files
NOT_FOUND = "404.html"
RUN_PICTURE = "icon-512.png"  # beside a link to a page without a card
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class SiteLinks:
    """Links of the static site, relative to its root, see :attr:`base`.

    ``here``: the page, from the root.
    ``version``: folder of the version; empty on pages that belong to no version, whose links a script completes.
    ``assets``: folder of the style sheets and scripts.
    ``public``: absolute address of the root, with a slash at the end; empty if it is not known.
    ``pages``: players with a page of their own, which programs without scripts read.
    ``cards``: paths of the cards of players by handle; of a contest's page, that of its own card by its id.
    """

    here: str
    version: str
    assets: str
    public: str = ""
    pages: frozenset[str] = frozenset()
    cards: Mapping[str, str] = field(default_factory=dict)
    data: ClassVar[str] = "site"
    root: ClassVar[str] = ""
    home: ClassVar[str] = "index.html"

    @property
    def base(self) -> str:
        """The root of the site, from the page."""
        if self.here == NOT_FOUND:  # which is shown at any address
            return self.public or "/"
        return "../" * self.here.count("/") or "./"

    def page(self, name: str) -> str:
        """Also ``active``, the leaderboard of the players who were active within a year, which only the site has."""
        return "compare.html" if name == "compare" else self._of_version(f"{name}.html")

    def leaderboard(self, page: int) -> str:
        return self._of_version(f"leaderboard/{page:03}.html")

    def contests(self, page: int) -> str:
        return self._of_version(f"contests/{page:03}.html" if page else "contests.html")

    def group(self, attribute: str, value: str) -> str:
        return f"{self.version}groups/{slug(f'{attribute} {value}')}-{crc32(f'{attribute}={value}'.encode()):08x}.html"

    def player(self, handle: str) -> str:
        return f"{own_page(handle) if handle in self.pages else 'player.html'}?h={quote(handle, '')}"

    def contest(self, contest_id: str) -> str:
        return f"contest.html?id={quote(contest_id, '')}"

    def problem(self, problem: str) -> str:
        return f"problem.html?id={quote(problem, '')}"

    def problems(self, page: int) -> str:
        return self._of_version(f"problems/{page:03}.html" if page else "problems.html")

    def player_problems(self, handle: str, chance: str) -> str:
        return f"player-problems.html?h={quote(handle, '')}&chance={chance}"

    def static(self, name: str) -> str:
        return f"{self.assets}{name}"

    def absolute(self, path: str) -> str:
        """The absolute address of a path from the root; empty if there is none, or the public address is not known."""
        return f"{self.public}{path.removeprefix(self.home)}" if self.public and path else ""

    def lasting(self, template: str) -> str:
        """The page of a template at an address that stays; empty for pages of a version."""
        return self.home if template == "leaderboard" and self.here == self.home else ""

    def lasting_player(self, handle: str) -> str:
        """The page of a player that stays; empty for those whose page a script fills."""
        return own_page(handle) if handle in self.pages else ""

    def lasting_contest(self, contest_id: str) -> str:
        """The page of a contest has the digest of its content in its name."""
        return ""

    def lasting_problem(self, problem: str) -> str:
        """The page of a problem has the digest of its content in its name."""
        return ""

    def card_of_player(self, handle: str) -> str:
        return self.absolute(self.cards.get(handle, ""))

    def card_of_contest(self, contest_id: str) -> str:
        return self.absolute(self.cards.get(contest_id, ""))

    def picture_of_run(self) -> str:
        return self.absolute(self.static(RUN_PICTURE))

    def logo(self, name: str) -> str:
        """The logo of the run, by the name of its file."""
        return self.static(name)

    def manifest(self) -> str:
        return self.static(MANIFEST)

    def feed(self) -> str:
        return FEED

    def feed_of_player(self, handle: str) -> str:
        """The feed of a player, which only the server has."""
        return ""

    def _of_version(self, path: str) -> str:
        return f"{self.version}{path}" if self.version else self.home


@dataclass(frozen=True, slots=True)
class ServerLinks:
    """Links of the server.

    ``root``: path of the server behind a proxy, without a slash at the end; empty at the root of a host.
    ``run``: name of the run.
    ``public``: absolute address of the root, without a slash at the end; empty if it is not known.
    """

    root: str
    run: str
    public: str = ""
    pages: ClassVar[frozenset[str]] = frozenset()  # every page has all there is to say
    data: ClassVar[str] = "server"
    here: ClassVar[str] = ""
    base: ClassVar[str] = ""

    @property
    def home(self) -> str:
        return f"{self.root}/{self.run}"

    def page(self, name: str) -> str:
        """Also ``preview``, the preview of a contest, which only the server has."""
        return f"{self.home}/{name}"

    def leaderboard(self, page: int, **chosen: str) -> str:
        """``chosen`` are further parameters, the empty ones left out."""
        return _with_query(self.home, page, chosen)

    def contests(self, page: int, **chosen: str) -> str:
        """``chosen`` as for :meth:`leaderboard`."""
        return _with_query(self.page("contests"), page, chosen)

    def group(self, attribute: str, value: str) -> str:
        return self.leaderboard(0, group=f"{attribute}:{value}")

    def player(self, handle: str) -> str:
        return f"{self.home}/p/{quote(handle, '')}"

    def player_page(self, handle: str, page: int) -> str:
        """A page of the rounds of a player, from 0."""
        return f"{self.player(handle)}?page={page}" if page else self.player(handle)

    def compare(self, handles: Sequence[str], page: int = 0) -> str:
        """The comparison of players, and a page of their common contests, from 0."""
        query = [("h", handle) for handle in handles] + ([("page", str(page))] if page else [])
        return f"{self.page('compare')}?{urlencode(query)}" if query else self.page("compare")

    def picture(self, handle: str, name: str) -> str:
        """A picture of a player, ``graph`` or ``badge``, which only the server has."""
        return f"{self.player(handle)}/{name}.svg"

    def contest(self, contest_id: str, page: int = 0, q: str = "") -> str:
        """``q``: only rows with this in the name."""
        query = ({"page": str(page)} if page else {}) | ({"q": q} if q else {})
        return f"{self.home}/c/{quote(contest_id, '')}{f'?{urlencode(query)}' if query else ''}"

    def problem(self, problem: str) -> str:
        return f"{self.page('problems')}/{quote(problem, '')}"

    def problems(self, page: int, /, **chosen: str) -> str:
        """A page of the list of problems; ``chosen`` as for :meth:`leaderboard`."""
        return _with_query(self.page("problems"), page, chosen)

    def player_problems(self, handle: str, page: int = 0, /, **chosen: str) -> str:
        """A page of the problems that a player solves with a chance; ``chosen`` as for :meth:`leaderboard`."""
        return _with_query(f"{self.player(handle)}/problems", page, chosen)

    def preview(self, result: str, page: int = 0, q: str = "") -> str:
        """A page of the changes of a preview that the server keeps."""
        query = {"result": result} | ({"page": str(page)} if page else {}) | ({"q": q} if q else {})
        return f"{self.page('preview')}?{urlencode(query)}"

    def standings(self, contest_id: str) -> str:
        """The standings of a contest as data, which only the server has."""
        return f"{self.root}/api/v1/runs/{self.run}/contests/{quote(contest_id, '')}"

    def static(self, name: str) -> str:
        """A style sheet, a script or an icon; its address changes with any of them, but for ``titles.css``."""
        if name == "titles.css":
            return f"{self.root}/static/titles/{self.run}.css"
        return f"{self.root}/static/{static_digest()}/{name}"

    def absolute(self, path: str) -> str:
        """The absolute address of a path; empty if the public address is not known."""
        return f"{self.public}{path.removeprefix(self.root)}" if self.public and path else ""

    def lasting(self, template: str) -> str:
        """The page of a template without choices."""
        return self.home if template == "leaderboard" else self.page(template)

    def lasting_player(self, handle: str) -> str:
        return self.player(handle)

    def lasting_contest(self, contest_id: str) -> str:
        return self.contest(contest_id)

    def lasting_problem(self, problem: str) -> str:
        return self.problem(problem)

    def card_of_player(self, handle: str) -> str:
        return self.absolute(f"{self.player(handle)}/{CARD}")

    def card_of_contest(self, contest_id: str) -> str:
        return self.absolute(f"{self.contest(contest_id)}/{CARD}")

    def picture_of_run(self) -> str:
        return self.absolute(self.static(RUN_PICTURE))

    def logo(self, name: str) -> str:
        """The logo of the run, by the name of its file."""
        return f"{self.home}/{name}"

    def manifest(self) -> str:
        return f"{self.home}/{MANIFEST}"

    def feed(self) -> str:
        return f"{self.home}/{FEED}"

    def feed_of_player(self, handle: str) -> str:
        return f"{self.player(handle)}/{FEED}"


def own_page(handle: str) -> str:
    """The page of a player on a site, which programs without scripts read."""
    return f"p/{slug(handle)}-{crc32(handle.encode()):08x}.html"


Links: TypeAlias = SiteLinks | ServerLinks


def _with_query(address: str, page: int, chosen: Mapping[str, str]) -> str:
    """The address of a page of a list, from 0, with the parameters that are not empty."""
    query = ({"page": str(page)} if page else {}) | {name: value for name, value in chosen.items() if value}
    return f"{address}?{urlencode(query)}" if query else address


def short(text: str) -> str:
    """A name for a page: visible characters, at most ``LONGEST_NAME`` of them, the rest an ellipsis."""
    shown = visible(text[:LONGEST_NAME])
    return shown if max(len(text), len(shown)) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 1]}…"


def day(seconds: int | None) -> str:
    """The date of a time, UTC; a dash if it is unknown (None or 0) or outside the calendar."""
    return _day(seconds // _DAY) if seconds else "–"


def chance(value: float) -> str:
    """A chance in percent; neither 0 nor 100 %, which would be certain."""
    return f"{min(max(round(value * 100), 1), 99)} %"


@lru_cache(maxsize=MOST_DAYS)
def _day(days: int) -> str:
    try:
        return f"{utc(days * _DAY):%Y-%m-%d}"
    except OverflowError:
        return "–"
