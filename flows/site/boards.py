"""The leaderboards of a site: pages of all players, and of the active ones and those of a group."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..answers.leaderboard import places_among
from ..common.times import AGES, parse_span
from ..pages.links import SiteLinks, short
from ..pages.views import leaderboard as leaderboard_page
from ..results.ranks import are_active
from .content import SiteContent
from .games import BestWins
from .recent import RecentRatings
from .shards import PAGE_ROWS, board_pages

SEASONS = "seasons"  # the folder of the pages of seasons
LISTED = 6  # seasons with a link on every leaderboard
FULL_PAGES = 10  # of all players, with all columns: that of the titles, the line of the last ratings, mu, and links

Mask = npt.NDArray[np.bool_]
Page = dict[str, list[Any]]


class SiteBoards:
    """The leaderboards of the final ``board`` of a run.

    ``recent``: the last ratings of its players. ``best_wins``: of a run of games, which the data have.
    """

    def __init__(
        self, content: SiteContent, board: pa.Table, recent: RecentRatings, best_wins: BestWins | None = None
    ) -> None:
        self._content, self._board, self._recent, self._best_wins = content, board, recent, best_wins

    @cached_property
    def active(self) -> Mask:
        """Whether each player was active within a year of the last contest; nobody, if no contest has a time."""
        return are_active(self._board, parse_span(leaderboard_page.DEFAULT, AGES))

    @property
    def has_times(self) -> bool:
        """Whether some players are known to be active."""
        return bool(self.active.any())

    def all(self) -> Iterator[Page]:
        """The data of the pages of all players."""
        return self._data(self._board)

    def page(self, number: int, data: Page, links: SiteLinks) -> dict[str, Any]:
        """A page of all players, given its data; those after the first ones are as small as they can be read."""
        start, n_pages, full = number * PAGE_ROWS, -(-self._board.num_rows // PAGE_ROWS), number < FULL_PAGES
        shown = self._shown(data, self._board.slice(start, PAGE_ROWS) if full else None)
        step = self._content.format.titles.step
        return leaderboard_page.board(
            shown, start=start, page=number, n_pages=n_pages, pages=links.leaderboard, linked=full,
            titled=full or step(data["rating"][0]) != step(data["rating"][-1]), switch=self.switch(links, False),
        )  # fmt: skip

    def switch(self, links: SiteLinks, active: bool | None) -> list[tuple[str, str, bool]]:
        """The choice between the active players, all, and those of a season; ``active`` None: a season."""
        found = self._switch(links.page("active"), links.leaderboard(0), self._board.num_rows, active is True)
        found = [(text, address, current and active is not None) for text, address, current in found]
        return found + [
            (f"Season {short(name)}", links.page(f"{SEASONS}/{number}"), False) for name, number in self._seasons
        ]

    @cached_property
    def _seasons(self) -> list[tuple[str, int]]:
        """The name and the number of the last seasons, latest first."""
        if not self._content.has("seasons"):
            return []
        rows = self._content.seasons.select(["name", "event_id", "n_rounds"]).to_pylist()[::-1]
        return [(row["name"], row["event_id"]) for row in rows if row["n_rounds"]][:LISTED]

    def some(self, keep: Mask, most: int, **more: Any) -> dict[str, Any]:
        """The best ``most`` of some players, with their places among each other and among all."""
        rows = np.flatnonzero(keep)
        best = self._board.take(pa.array(rows[:most]))
        data: Page = next(self._data(best), {name: [] for name in best.column_names})
        page = self._shown(data, best)
        if len(rows) < self._board.num_rows:
            numbers = places_among(self._board, rows)[:most].tolist()
            page |= {"of_all": page["place"], "place": [number or None for number in numbers]}
        return leaderboard_page.board(page, total=len(rows), **more)

    def active_ones(self, most: int, links: SiteLinks) -> dict[str, Any]:
        """The best ``most`` of the active players; of all if no contest has a time."""
        if not self.has_times:
            return self.some(np.ones(self._board.num_rows, bool), most)
        active = leaderboard_page.ACTIVE[leaderboard_page.DEFAULT]
        return self.some(self.active, most, active=active, switch=self.switch(links, True))

    def group(self, keep: Mask, heading: str, address: str) -> dict[str, dict[str, Any]]:
        """The pages of a group by address: its active players, and all of them if there are others."""
        every = address.replace(".html", "-all.html")
        if not self.has_times or (keep & self.active).sum() == keep.sum():
            return {address: self.some(keep, PAGE_ROWS, heading=heading)}
        n_all, active = int(keep.sum()), leaderboard_page.ACTIVE[leaderboard_page.DEFAULT]
        switches = [self._switch(address, every, n_all, current) for current in (True, False)]
        return {
            address: self.some(keep & self.active, PAGE_ROWS, heading=heading, active=active, switch=switches[0]),
            every: self.some(keep, PAGE_ROWS, heading=heading, switch=switches[1]),
        }

    def _switch(self, active: str, every: str, n_all: int, current: bool) -> list[tuple[str, str, bool]]:
        if not self.has_times:
            return []
        within = leaderboard_page.ACTIVE[leaderboard_page.DEFAULT]
        return [(f"Active within {within}", active, current), (f"All {n_all:,}", every, not current)]

    def _data(self, board: pa.Table) -> Iterator[Page]:
        content, further = self._content, self._content.further(board)
        if self._best_wins is not None:
            players = board.column("player").to_numpy()
            further["best_win"] = self._best_wins.of(players, content.handles, content.format.decimals)
        return board_pages(board, content.format.decimals, **further)

    def _shown(self, data: Page, rows: pa.Table | None) -> Page:
        """The columns that a page shows, with beliefs and the last ratings if ``rows`` are given."""
        skills = self._content.display.system.uncertainty > 0 and rows is not None
        shown = {name: values for name, values in data.items() if skills or name != "mu"}
        recent = {} if rows is None else {"recent": self._recent.of(rows.column("player").to_numpy())}
        return shown | recent
