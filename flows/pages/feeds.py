"""Files for programs that follow a site: feeds (Atom), maps of its pages (sitemap), robots.txt, and the web manifest.

Sources: RFC 4287, sitemaps.org, RFC 9309, and "Web Application Manifest" of the W3C.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from xml.sax.saxutils import escape, quoteattr

from ..common.brand import Brand
from ..common.text import capital, visible
from ..common.times import utc
from .links import short

MOST_ENTRIES = 50  # of a feed, the newest ones
MOST_ADDRESSES = 50_000  # of a map, a rule of sitemaps
ATOM, XML, MANIFEST = (
    "application/atom+xml; charset=utf-8",
    "application/xml; charset=utf-8",
    "application/manifest+json",
)
_HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'
_SITEMAP = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a feed. ``key``: names it for ever; ``address``: may be relative to the feed."""

    key: str
    title: str
    address: str
    time_seconds: int
    text: str


def feed(key: str, title: str, subtitle: str, addresses: tuple[str, str], entries: Sequence[Entry]) -> str:
    """A feed in Atom, newest entry first.

    ``key``: names the feed for ever. ``addresses``: of the page and of the feed, absolute or from the root.
    """
    newest = max((entry.time_seconds for entry in entries), default=0)
    lines = [
        f'{_HEAD}<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<id>{_id(key)}</id><title>{_text(title)}</title><subtitle>{_text(subtitle)}</subtitle>",
        f"<updated>{_time(newest)}</updated><author><name>{_text(title)}</name></author>",
        f'<link rel="alternate" type="text/html" href={_href(addresses[0])}/>',
        f'<link rel="self" type="application/atom+xml" href={_href(addresses[1])}/>',
    ]
    for entry in entries[:MOST_ENTRIES]:
        lines += [
            f"<entry><id>{_id(entry.key)}</id><title>{_text(entry.title)}</title>",
            f'<link rel="alternate" type="text/html" href={_href(entry.address)}/>',
            f"<updated>{_time(entry.time_seconds)}</updated><summary>{_text(entry.text)}</summary></entry>",
        ]
    return "\n".join([*lines, "</feed>\n"])


def sitemap(addresses: Iterable[str]) -> str:
    """A map of at most :data:`MOST_ADDRESSES` absolute addresses."""
    return _list_of("urlset", "url", addresses)


def sitemap_index(addresses: Iterable[str]) -> str:
    """The list of maps, given their absolute addresses."""
    return _list_of("sitemapindex", "sitemap", addresses)


def robots(root: str, sitemap_address: str) -> str:
    """What programs may read: the pages, and not what is computed for one request. ``root``: path of the server."""
    rules = ["User-agent: *", f"Disallow: {root}/api/", f"Disallow: {root}/data/"]
    return "\n".join([*rules, *([f"Sitemap: {sitemap_address}"] if sitemap_address else []), ""])


def manifest(name: str, description: str, start: str, icons: Sequence[tuple[str, str, str]]) -> bytes:
    """The web manifest. ``start``: address of the first page; ``icons``: address, sizes and media type of each."""
    about: dict[str, Any] = {
        "name": short(name),
        "short_name": short(name)[:30],
        "start_url": start,
        "display": "browser",
    }
    about |= {"description": visible(description)} if description else {}
    about["icons"] = [{"src": address, "sizes": sizes, "type": kind} for address, sizes, kind in icons]
    return json.dumps(about, allow_nan=False).encode()


def contest_text(brand: Brand, n_players: int, first: Sequence[str] = (), n_games: int | None = None) -> str:
    """The line about a contest; ``first``: the names of the best, ``n_games``: of a period of games."""
    best = f" First: {', '.join(first)}." if first else ""
    return f"{brand.count_in_contest(n_players, n_games)}.{best}"


def round_text(contest: str, result: str, rating: str, change: str) -> str:
    """The line about a round of a player in a feed; ``contest`` is the word for one, ``result`` a place or a score."""
    return f"{capital(contest)}: {result}, rating {rating} ({change})."


def _list_of(outer: str, inner: str, addresses: Iterable[str]) -> str:
    rows = "\n".join(f"<{inner}><loc>{escape(address)}</loc></{inner}>" for address in addresses)
    return f"{_HEAD}<{outer} {_SITEMAP}>\n{rows}\n</{outer}>\n"


def _text(text: str) -> str:
    return escape(visible(text))


def _href(address: str) -> str:
    return quoteattr(address)


def _id(key: str) -> str:
    return f"urn:uuid:{uuid5(NAMESPACE_URL, f'ranklake:{key}')}"


def _time(seconds: int) -> str:
    try:
        return f"{utc(seconds):%Y-%m-%dT%H:%M:%SZ}"
    except (OverflowError, ValueError):
        return "1970-01-01T00:00:00Z"
