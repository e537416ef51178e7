"""Addresses of the pages, relative to the page that has them, so that a site works at any address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote, urlencode
from zlib import crc32

from ..common.text import slug

__all__ = ["Links", "ServerLinks", "SiteLinks"]


class Links(Protocol):
    """Addresses for the templates."""

    @property
    def here(self) -> str:
        """The page itself, if its addresses are relative to ``base``; else empty."""

    @property
    def base(self) -> str:
        """What addresses are relative to, from the page; empty for the page itself."""

    @property
    def home(self) -> str:
        """The first page of the run."""

    @property
    def contests(self) -> str:
        """The list of contests."""

    @property
    def distribution(self) -> str:
        """The distribution of ratings."""

    @property
    def groups(self) -> str:
        """The groups of players with the same attribute."""

    @property
    def active(self) -> str:
        """The leaderboard of the players who were active within a year."""

    @property
    def compare(self) -> str:
        """The comparison of players."""

    @property
    def data(self) -> str:
        """The data of the scripts: ``site`` or ``server``."""

    @property
    def root(self) -> str:
        """Prefix of the addresses that the scripts request."""

    def leaderboard(self, page: int) -> str:
        """Page ``page`` of the leaderboard, from 0."""

    def player(self, handle: str) -> str:
        """The page of a player."""

    def contest(self, contest_id: str) -> str:
        """The page of a contest."""

    def group(self, attribute: str, value: str) -> str:
        """The leaderboard of a group."""

    def static(self, name: str) -> str:
        """A style sheet or a script."""


@dataclass(frozen=True, slots=True)
class SiteLinks:
    """Links of the static site.

    Parameters
    ----------
    here
        The page, from the root of the site. All addresses are relative to the root, see :attr:`base`.
    version
        Folder of the version, from the root; empty on pages that belong to no version, whose links a script completes.
    assets
        Folder of the style sheets and scripts, from the root.
    """

    here: str
    version: str
    assets: str
    data: str = "site"
    root: str = ""

    @property
    def base(self) -> str:
        return "../" * self.here.count("/") or "./"

    @property
    def home(self) -> str:
        return "index.html"

    @property
    def contests(self) -> str:
        return f"{self.version}contests.html" if self.version else self.home

    @property
    def distribution(self) -> str:
        return f"{self.version}distribution.html" if self.version else self.home

    @property
    def groups(self) -> str:
        return f"{self.version}groups.html" if self.version else self.home

    @property
    def active(self) -> str:
        return f"{self.version}active.html" if self.version else self.home

    def group(self, attribute: str, value: str) -> str:
        """The leaderboard of a group."""
        return f"{self.version}groups/{slug(f'{attribute} {value}')}-{crc32(f'{attribute}={value}'.encode()):08x}.html"

    @property
    def compare(self) -> str:
        return "compare.html"

    def leaderboard(self, page: int) -> str:
        return f"{self.version}leaderboard/{page:03}.html" if self.version else self.home

    def player(self, handle: str) -> str:
        return f"player.html?h={quote(handle, '')}"

    def contest(self, contest_id: str) -> str:
        return f"contest.html?id={quote(contest_id, '')}"

    def static(self, name: str) -> str:
        return f"{self.assets}{name}"


@dataclass(frozen=True, slots=True)
class ServerLinks:
    """Links of the server.

    Parameters
    ----------
    root
        Path of the server behind a proxy, without a slash at the end; empty at the root of a host.
    run
        Name of the run.
    """

    root: str
    run: str
    data: str = "server"
    here: str = ""
    base: str = ""

    @property
    def home(self) -> str:
        return f"{self.root}/{self.run}"

    @property
    def contests(self) -> str:
        return f"{self.home}/contests"

    @property
    def distribution(self) -> str:
        return f"{self.home}/distribution"

    @property
    def groups(self) -> str:
        return f"{self.home}/groups"

    @property
    def active(self) -> str:
        return f"{self.home}?active=1y"

    @property
    def compare(self) -> str:
        return f"{self.home}/compare"

    @property
    def preview(self) -> str:
        """The preview of a contest, which only the server has."""
        return f"{self.home}/preview"

    def leaderboard(self, page: int, **chosen: str) -> str:
        """Page ``page`` of the leaderboard; ``chosen`` are further parameters, the empty ones left out."""
        query = ({"page": str(page)} if page else {}) | {name: value for name, value in chosen.items() if value}
        return f"{self.home}?{urlencode(query)}" if query else self.home

    def group(self, attribute: str, value: str) -> str:
        """The leaderboard of a group."""
        return self.leaderboard(0, group=f"{attribute}:{value}")

    def player(self, handle: str) -> str:
        return f"{self.home}/p/{quote(handle, '')}"

    def picture(self, handle: str, name: str) -> str:
        """A picture of a player, ``graph`` or ``badge``, which only the server has."""
        return f"{self.player(handle)}/{name}.svg"

    def contest(self, contest_id: str) -> str:
        return f"{self.home}/c/{quote(contest_id, '')}"

    def standings(self, contest_id: str) -> str:
        """The standings of a contest as data, which only the server has."""
        return f"{self.root}/api/v1/runs/{self.run}/contests/{quote(contest_id, '')}"

    def static(self, name: str) -> str:
        if name == "titles.css":
            return f"{self.root}/static/titles/{self.run}.css"
        return f"{self.root}/static/{name}"
