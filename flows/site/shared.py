"""What a site has for programs without scripts: pages of the best players, cards, a feed, a map, a page of errors.

Crawlers and sites that show links run no scripts, so the best players have a page each with their name in its title and
its description; a script fills it, as that of all others. Pages that exist stay, as other sites have links to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from ..common.text import capital, slug
from ..pages.cards import FIRST_ROWS, ContestCard, PlayerCard, contest_card, player_card
from ..pages.feeds import MOST_ADDRESSES, MOST_ENTRIES, Entry, contest_text, feed, robots, sitemap
from ..pages.links import FEED, SiteLinks, own_page, short
from ..pages.render import RunFacts
from .content import SiteContent, digest
from .recent import RecentRatings
from .writer import SiteFiles

DEFAULT_SHARED = 100  # players with a page of their own, and contests with a card, by default
CARDS = "data/cards"
NOT_FOUND = "404.html"

Columns = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shared:
    """``public``: absolute address of the site, with a slash at the end; without one there are no cards and no map.

    ``most``: players with a page of their own, and contests with a card.
    """

    public: str = ""
    most: int = DEFAULT_SHARED

    def cards_from(self, n_rounds: int) -> int:
        """The first round with a card."""
        return max(n_rounds - self.most, 0) if self.public else n_rounds


UNSHARED = Shared()


def contest_card_of(stem: str, shown: Columns, run: RunFacts, files: SiteFiles) -> str:
    """Draw the card of a contest, given its name and its rows; returns its path."""
    columns = (shown[name][:FIRST_ROWS] for name in ("place", "handle", "rating", "change"))
    first, name = list(zip(*columns, strict=True)), shown["name"] or shown["contest_id"]
    n_players, n_games = shown["n_players"] or len(shown["handle"]), shown.get("n_games")
    card = ContestCard(name, shown["time_seconds"] or 0, n_players, first if n_games is None else [], n_games)
    return files.put(contest_card_path(stem), partial(contest_card, card, run))


def contest_card_path(stem: str) -> str:
    """The path of the card of a contest, whose ``stem`` has a digest."""
    return f"{CARDS}/c-{stem}.png"


class SharedPlayers:
    """The players with a page of their own: the best ones, and those who have one already."""

    def __init__(self, content: SiteContent, board: pa.Table, files: SiteFiles, most: int) -> None:
        known = {name.rpartition("-")[2].removesuffix(".html") for name in files.names("p") if name.endswith(".html")}
        players = board.column("player").to_numpy()
        sums = content.checksums[players]
        found = np.isin(sums, np.array([int(one, 16) for one in known if _is_sum(one)], np.uint32))
        found[:most] = True
        self.rows = np.flatnonzero(found)
        self._board = board

    @cached_property
    def handles(self) -> frozenset[str]:
        """Their handles."""
        return frozenset(self._board.column("handle").take(pa.array(self.rows)).to_pylist())

    def cards(self, run: RunFacts, recent: RecentRatings, files: SiteFiles) -> dict[str, str]:
        """Draw the card of each; returns their paths by handle."""
        names = ["handle", "rating", "max_rating", "place", "provisional"]
        rows = self._board.take(pa.array(self.rows))
        ratings, paths = recent.of(rows.column("player").to_numpy()), {}
        for one, last in zip(rows.select(names).to_pylist(), ratings, strict=True):
            card = PlayerCard(**one, ratings=last)
            about = [one, [round(value, 3) for value in last], run.n_ranked, run.brand.to_json(), short(run.title)]
            about += [run.name_of(card.handle), run.countries.get(card.handle), run.format.titles.to_json()]
            path = f"{CARDS}/p-{slug(card.handle)}-{digest(about)}.png"
            paths[card.handle] = files.put(path, partial(player_card, card, run))
        return paths

    def players(self) -> list[dict[str, Any]]:
        """What the head of each page says."""
        names = ["handle", "rating", "max_rating", "place", "n_rounds", "last_time_seconds"]
        found: list[dict[str, Any]] = self._board.select(names).take(pa.array(self.rows)).to_pylist()
        return found


def contest_feed(run: RunFacts, about: Columns, pages: list[str], first: Mapping[int, list[str]], public: str) -> str:
    """The newest contests. ``first``: the best players of each round, by handle."""
    entries = []
    for index in range(len(pages) - 1, -1, -1)[:MOST_ENTRIES]:
        key, name, time = (about[column][index] for column in ("contest_id", "name", "time_seconds"))
        best = [run.name_of(handle) for handle in first.get(index, [])]
        n_games = about["n_games"][index] if "n_games" in about else None
        text = contest_text(run.brand, about["n_players"][index] or 0, best, n_games)
        address = SiteLinks("", "", "").contest(key) if pages[index] else ""
        entries.append(Entry(f"{run.name}/c/{key}", short(name or key), f"{public}{address}", time or 0, text))
    subtitle = run.brand.description or f"{capital(run.brand.contests)} and what they changed"
    return feed(run.name, short(run.title), subtitle, (public or "./", f"{public}{FEED}"), entries)


def files_for_crawlers(public: str, handles: frozenset[str], pages: list[str]) -> dict[str, str]:
    """``robots.txt`` and the map of the site; nothing without its address, which both need."""
    if not public:
        return {}
    path = "/" + public.split("/", 3)[3].rstrip("/")
    players = sorted(map(own_page, handles))
    listed = ["", *(page for page in reversed(pages) if page), *players][:MOST_ADDRESSES]
    return {
        "robots.txt": robots(path.rstrip("/"), f"{public}sitemap.xml"),
        "sitemap.xml": sitemap(f"{public}{address}" for address in listed),
    }


def _is_sum(text: str) -> bool:
    return len(text) == 8 and all(character in "0123456789abcdef" for character in text)
