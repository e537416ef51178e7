"""The parts of a version of a site, each written as data for the scripts and as pages that need none."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..answers.contests import Winner, counts_of
from ..answers.seasonal.resets import parted, with_brought
from ..common.brand import UNBRANDED, Brand
from ..common.progress import ProgressCallback, not_shown
from ..common.text import slug
from ..pages.colours import title_styles
from ..pages.feeds import MOST_ENTRIES, manifest
from ..pages.files import package_files
from ..pages.links import FEED, MANIFEST, NOT_FOUND, SiteLinks, own_page
from ..pages.places import places_line
from ..pages.render import RunFacts, Templates
from ..pages.views import contest_list
from ..pages.views import contests as contests_page
from ..pages.views import distribution as distribution_page
from ..pages.views import groups as groups_page
from ..pages.views import leaderboard as leaderboard_page
from ..pages.views import periods as periods_page
from ..results.attributes import attribute_names, grouping, values_of
from ..results.components import compared_in
from ..results.groups import groups_of, has_value
from ..results.ranks import chosen
from ..results.rated_rounds import LeaderboardBuilder
from .boards import SEASONS, SiteBoards
from .content import Round, SiteContent, digest
from .games import BestWins, ratings_around
from .past import SitePast
from .problems import SiteProblems
from .recent import RecentRatings
from .shards import (
    PAGE_ROWS,
    contest_rows,
    encode,
    history_shards,
    levels,
    numbers,
    search_buckets,
    search_lists,
    shard_count,
)
from .shared import Shared, SharedPlayers, contest_card_of, contest_card_path, contest_feed, files_for_crawlers
from .writer import SiteFiles, compress

FIRST_ROWS = 100  # of the leaderboard on the first page of the site
PACKED_PAGES = 20  # of the leaderboard that are also written compressed
CONTEST_ROWS = 50  # of the standings on a contest's page; a script adds the others
MAX_CONTESTS = 20_000  # the newest ones have pages

SERVER_FILES = ("preview.js",)  # of pages that only the server has
SHELLS = ("player.html", "compare.html", "contest.html")  # pages that a script fills


class SiteParts:
    """Writes the parts of a site into the files of a new version, :meth:`rounds` first.

    ``look``: digest of the templates, scripts and style sheets. ``board``, ``facts``: as the pages show them.
    """

    board: pa.Table
    facts: RunFacts

    def __init__(
        self, content: SiteContent, files: SiteFiles, shared: Shared, on_progress: ProgressCallback = not_shown
    ) -> None:
        self._shared = shared
        self._on_progress, self._done = on_progress, 0
        self._total = 2 * int(content.rows.sum()) + 2 * len(content.handles)
        self._winners: list[Winner | None] = [None] * content.n_rounds
        self._counts: list[dict[str, int]] = [{"n_players": 0, "n_games": 0}] * content.n_rounds  # of periods of games
        self._content, self._files, self._templates = content, files, Templates.shared()
        self._attributes = grouping(attribute_names(content.attributes))
        statics = {name: data for name, data in package_files("static").items() if name not in SERVER_FILES}
        self._statics = statics | _branded(content.brand, self._facts().title)
        self._statics["titles.css"] = title_styles(content.format.titles).encode()
        self._assets = f"static/{digest(*self._statics.values())}/"
        has_groups = [b"groups"] if self._attributes else []  # every page has a link to them
        branded = [] if content.brand == UNBRANDED else [content.brand.to_json()]
        has_problems = [b"problems"] if content.problem_inputs else []
        further = [*has_groups, *has_problems, *branded, shared.public]
        self.look = digest(*self._statics.values(), *package_files("templates").values(), *further)
        timeless = lambda path: SiteLinks(path, "", self._assets, shared.public)  # noqa: E731
        self._problems = SiteProblems(content, files, self.look, timeless)

    def statics(self) -> None:
        """Style sheets and scripts."""
        for name, data in self._statics.items():
            self._files.put(f"{self._assets}{name}", partial(bytes, data))

    def rounds(self) -> tuple[list[str], list[int]]:
        """Read all rounds: the page of each contest, and the most players known after each round."""
        content = self._content
        self._problems.write(self._facts())
        builder, pages, most = content.builder(), [""] * content.n_rounds, np.zeros(content.n_rounds, np.int64)
        columns: tuple[str, ...] = ("player", "lo", "perf", "mu", "sigma", "n_before")
        recent, past = RecentRatings(len(content.handles)), SitePast(content)
        if games := content.of_games:
            columns = (*columns, "hi")
        best_wins = BestWins(len(content.handles)) if games else None
        resets, last_round = content.reset_rounds, np.full(len(content.handles), -1)
        if len(resets):
            columns = (*columns, "mu_prior", "sigma_prior")
        for index, everyone in content.each(0, content.n_rounds, columns, unrated=True):
            self._advance(int(content.rows[index]), "contests")
            rated = everyone["rated"]
            rows = {name: everyone[name] if rated.all() else everyone[name][rated] for name in columns}
            player = rows["player"]
            most[index] = player.max() + 1
            if best_wins:
                before, after = ratings_around(content.display, index, rows, builder)
                best_wins.add(index, rows, before)
                self._counts[index] = counts_of(player)
                everyone = rows | {"rated": np.ones(len(player), bool)}
            else:
                self._winners[index] = content.winner(index, rows)
                before = _ratings(builder, everyone["player"])
            if len(resets):
                fresh = parted(resets, last_round[everyone["player"]], index) & everyone["rated"]
                brought = everyone | {"round_index": np.full(len(before), index, np.int32)}
                before = with_brought(before, brought, everyone["player"][~fresh], lambda: content.display)
                last_round[player] = index
            builder.update(_table(index, rows))
            if not games:
                after = _ratings(builder, everyone["player"])
            rated_now, at = np.unique(player, return_index=True)  # a player may have several games of a period
            recent.add(rated_now, builder.rating[rated_now], before[everyone["rated"]][at])
            past.add(index, builder)
            if index < content.n_rounds - MAX_CONTESTS:
                continue
            stem = f"{slug(content.about['contest_id'][index])}-{content.round_key(index, player)}"
            has_card = index >= self._shared.cards_from(content.n_rounds)
            steps = self._steps(index)
            problems = self._problems.of_contest(content.about["contest_id"][index])
            changing = [*([b"card"] if has_card else []), *([problems] if problems else [])]
            key = digest(stem, steps, self.look, *changing)
            data, page = (
                f"data/contests/{stem}.json.gz",
                f"contests/{slug(content.about['contest_id'][index])}-{key}.html",
            )
            pages[index] = page
            known = [self._files.has(path) for path in (data, page, *([contest_card_path(stem)] if has_card else []))]
            if not all(known):
                shown = contest_rows(content, index, everyone, before, after)
                self._files.put(data, partial(_packed, shown))
                if has_card:
                    contest_card_of(stem, shown, self._facts(), self._files)
                card = contest_card_path(stem) if has_card else ""
                html = self._contest_page(shown, page, data, steps, card, problems)
                self._files.put(page, html.encode)
        self.board = content.board_of(builder)
        self._past = past.data(self.board)
        self._boards, self._recent = SiteBoards(content, self.board, recent, best_wins), recent
        self._players = SharedPlayers(content, self.board, self._files, self._shared.most)
        last = max((time or 0 for time in content.about["time_seconds"]), default=0)
        self.facts = replace(
            self._facts(),
            n_players=self.board.num_rows,
            n_rounds=content.n_rounds,
            last_time_seconds=last,
            components=content.components_line,
            places=places_line(content.places, content.uncertainty, content.brand.players),
            n_provisional=self.board.num_rows - self._ranked.num_rows,
        )
        return pages, np.maximum.accumulate(most).tolist()

    @property
    def _ranked(self) -> pa.Table:
        """The players with a place."""
        return chosen(self.board, "hide")

    @cached_property
    def _with_page(self) -> NDArray[np.int64]:
        """The rounds whose contests have pages."""
        rounds = np.flatnonzero(self._content.rows)
        return rounds[rounds >= self._content.n_rounds - MAX_CONTESTS]

    def _steps(self, index: int) -> contests_page.Steps:
        """The contests with a page before and after one: the page changes with them."""
        about, links = self._content.about, SiteLinks("", "", self._assets)
        at, found = int(np.searchsorted(self._with_page, index)), []
        for i in (at - 1, at + 1):
            number = int(self._with_page[i]) if 0 <= i < len(self._with_page) else -1
            key, name = about["contest_id"][number], about["name"][number]
            found.append(None if number < 0 else (name or key, links.contest(key)))
        return found[0], found[1]

    def _contest_page(
        self,
        shown: dict[str, Any],
        page: str,
        data: str,
        steps: contests_page.Steps,
        card: str,
        problems: list[dict[str, Any]],
    ) -> str:
        rows = {name: values for name, values in shown.items() if isinstance(values, list)}
        if games := self._content.of_games:
            context = periods_page.games(shown, rows, most=CONTEST_ROWS, steps=steps, data=data)
        else:
            more: dict[str, Any] = {"most": CONTEST_ROWS, "steps": steps, "data": data, "problems": problems}
            context = contests_page.standings(shown, rows, len(shown["handle"]), **more)
        cards = {str(shown["contest_id"]): card} if card else {}
        links = SiteLinks(page, "", self._assets, self._shared.public, cards=cards)
        return self._templates.render("period" if games else "contest", self._facts(), links, **context)

    def _facts(self) -> RunFacts:
        """The run without counts and lines, for pages that do not change with new rounds."""
        content = self._content
        about = content.run, content.system, content.dataset, 0, 0, 0, content.format, self._attributes
        return RunFacts(
            *about,
            brand=content.brand,
            names=content.names,
            countries=content.countries,
            has_performance=content.display.system.has_performance,
            n_problems=int(bool(content.problem_inputs)),
            static=content.static,
        )

    def histories(self, n_players: list[int]) -> list[dict[str, Any]]:
        """The files of histories: a folder a level, with the number of its files."""
        content, files, written = self._content, self._files, []
        for start, stop in levels(content.rows):
            shards = shard_count(int(content.rows[start:stop].sum()))
            folder = f"data/histories/{content.level_key(start, stop, n_players[stop - 1])}/"
            written.append({"folder": folder, "shards": shards, "start": start, "stop": stop})
            known = [files.has(f"{folder}{number:04}.json.gz") for number in range(shards)]
            rows = int(content.rows[start:stop].sum())
            if all(known):
                self._advance(rows, "histories")
                continue
            for number, players in history_shards(content, start, stop, shards):
                files.put(f"{folder}{number:04}.json.gz", partial(_packed, players))
                self._advance(rows * (number + 1) // shards - rows * number // shards, "histories")
        return written

    def contests(self, pages: list[str]) -> dict[str, str]:
        """The list of contests, as data and as pages."""
        about, links = self._about(), self._links("contests.html")
        rows = about | {"winner": self._winners}
        for context in contest_list.site_pages(rows, pages, links.contests, MAX_CONTESTS):
            path = links.contests(context["page"]).removeprefix(self._files.version)
            self._files.page(path, self._render("contests", path, context), packed=context["page"] == 0)
        columns = {
            name: about[name] for name in ("contest_id", "time_seconds", "n_players", "n_games") if name in about
        }
        names = [name or key for name, key in zip(about["name"], about["contest_id"], strict=True)]
        return {
            "contests": self._named("data/contests", columns | {"name": names, "page": pages}),
            "winners": self._named("data/winners", {"winner": self._winners, "names": self._names_of_winners()}),
        }

    def _about(self) -> dict[str, list[Any]]:
        """What is known of each contest; of periods of games their counts."""
        of_games = self._counts if self._content.of_games else []
        numbers = {name: [one[name] for one in of_games] for name in ("n_players", "n_games")} if of_games else {}
        return self._content.about | numbers

    def _names_of_winners(self) -> dict[str, str]:
        """The display name of the first winner of each contest, by handle."""
        handles = {one.handles[0] for one in self._winners if one is not None}
        return {handle: self._content.names[handle] for handle in sorted(handles & self._content.names.keys())}

    def leaderboard(self) -> dict[str, Any]:
        """Every page of the leaderboard, as data and as a page; what the scripts need to find a player's page."""
        keys, first = [], []
        for number, data in enumerate(self._boards.all()):
            key = self._named(f"data/leaderboard/{number:03}", data).rpartition("-")[2].partition(".")[0]
            keys.append(key)
            first.append(data["rating"][0])
            path = f"leaderboard/{number:03}.html"
            html = self._render("leaderboard", path, self._boards.page(number, data, self._links(path)))
            self._files.page(path, html, packed=number < PACKED_PAGES)
            self._advance(len(data["rating"]), "leaderboard")
        return {"rows": PAGE_ROWS, "files": keys, "first": first}

    def index(self) -> str:
        """The first page of the site, which names the version: the best active players."""
        links = SiteLinks("index.html", self._files.version, self._assets, self._shared.public, self._players.handles)
        context = self._boards.active_ones(FIRST_ROWS, links) | {"version": self._files.version}
        return self._templates.render("leaderboard", self.facts, links, **context)

    def _page(self, name: str, **context: Any) -> None:
        """A page of the version with the template of its name."""
        self._files.page(f"{name}.html", self._render(name, f"{name}.html", context), packed=True)

    def _render(self, template: str, path: str, context: dict[str, Any]) -> str:
        return self._templates.render(template, self.facts, self._links(path), **context)

    def _links(self, path: str) -> SiteLinks:
        """The links of a page of the version."""
        here = f"{self._files.version}{path}"
        return SiteLinks(here, self._files.version, self._assets, self._shared.public, self._players.handles)

    def active(self) -> None:
        """The leaderboard of the players who were active within a year; none if no contest has a time."""
        if self._boards.has_times:
            context = self._boards.active_ones(PAGE_ROWS, self._links("active.html"))
            self._files.page("active.html", self._render("leaderboard", "active.html", context))

    def seasons(self) -> None:
        """The leaderboard of each season; none without seasons."""
        if not self._content.has("seasons"):
            return
        for season, board in self._content.season_boards():
            path = f"{SEASONS}/{season.event.event_id}.html"
            switch = self._boards.switch(self._links(path), None)
            switch = [(text, link, link.endswith(path)) for text, link, _ in switch]
            shown = board.slice(0, PAGE_ROWS)
            more: dict[str, Any] = {"total": board.num_rows, "switch": switch}
            context = leaderboard_page.season_board(shown, self._content.places, season.name, **more)
            self._files.page(path, self._render("leaderboard", path, context))

    def groups(self) -> dict[str, str]:
        """The groups of players, as data and as a page, and the leaderboard of each group on it; empty without any."""
        if not self._attributes:
            return {}
        attributes, version = self._content.attributes, self._files.version
        table, links = groups_of(self._ranked, attributes), SiteLinks(f"{version}groups.html", version, self._assets)
        shown = groups_page.groups(table, links)
        for section in shown["sections"]:
            values = values_of(attributes, section["name"], self.board.column("player"))
            for row in section["rows"]:
                keep, heading = has_value(values, row["value"]), f"{section['name']} {row['value']}"
                for address, context in self._boards.group(keep, heading, row["address"]).items():
                    path = address.removeprefix(version)
                    self._files.page(path, self._render("leaderboard", path, context))
        self._page("groups", **shown)
        decimals = self._content.format.decimals
        ratings = {name: numbers(table.column(name).to_numpy(), decimals) for name in ("rating", "best_rating")}
        return {"groups": self._named("data/groups", table.to_pydict() | ratings)}

    def problems(self) -> dict[str, str]:
        """The problems, as data and as pages of a list; empty without any."""
        if not self._problems.there:
            return {}
        for path, context in self._problems.list_pages(self._links).items():
            self._files.page(path, self._render("problems", path, context), packed=context["page"] == 0)
        data = self._problems.data()
        return {"problems": self._files.put(f"data/problems-{digest(data)}.json.gz", partial(bytes, data))}

    def distribution(self) -> str:
        """The histogram of ratings, as data and as a page."""
        shown = distribution_page.distribution(self._ranked, self._content.format.titles)
        self._page("distribution", **shown)
        bins = shown["bins"]
        quantiles = {"share": [q for q, _ in bins.quantiles], "rating": [value for _, value in bins.quantiles]}
        data = {"start": bins.start, "width": bins.width, "counts": bins.counts, "quantiles": quantiles}
        return self._named("data/distribution", data)

    def past_places(self) -> dict[str, str]:
        """The file of places over time; empty if they have no meaning."""
        return {} if self._past is None else {"past_places": self._named("data/past-places", self._past)}

    def search(self) -> dict[str, Any]:
        """The search index: a file for the first characters of handles, the list of these files, and all players."""
        ratings = numbers(self.board.column("rating").to_numpy(), self._content.format.decimals)
        handles, index = self.board.column("handle").to_pylist(), {}
        for prefix, rows in search_buckets(handles, ratings).items():
            data = encode(rows)
            index[prefix] = key = digest(prefix, data)
            self._files.put(f"data/search/{key}.json.gz", partial(compress, data))
            self._advance(len(rows["handle"]) if len(prefix) > 1 else 0, "search")
        found = search_lists(handles, ratings, self._content.names)
        lists = [self._named(f"data/players-{i:02}", rows) for i, rows in enumerate(found)]
        return {"search": self._named("data/search", index), "players_by_rating": lists}

    @property
    def uncertainty(self) -> float:
        """Standard deviation of a skill, divided by sigma; 0 for a system without an uncertainty."""
        return self._content.display.system.uncertainty

    def ranked_in(self) -> dict[str, dict[int, int]]:
        """The players with a place by component, if places are within these."""
        if compared_in(self.board, self._content.places.min_rounds) is None:
            return {}
        return {"ranked_in": dict(Counter(self._ranked.column("component").to_pylist()))}

    def shells(self, pages: list[str]) -> dict[str, str | bytes]:
        """Pages that a script fills, and what programs read; they belong to no version, so that their addresses stay.

        ``pages``: of the contests.
        """
        timeless, public = self._facts(), self._shared.public
        links = [SiteLinks(page, "", self._assets, public) for page in (*SHELLS, NOT_FOUND)]
        render, handles = self._templates.render, self._players.handles
        missing = {"title": "Not found", "detail": "There is no such page.", "near": [], "heading": "", "within": True}
        best = {} if self._content.of_games else self._content.best(MOST_ENTRIES)
        of_pairs = {"pairs": [], "apart": "", "skills": self.uncertainty > 0, "games": None,
                    "matrix": [], "contests": []}  # fmt: skip
        return {
            SHELLS[0]: render("player", timeless, links[0], player=None, rounds=[]),
            SHELLS[1]: render("compare", timeless, links[1], players=[], asked="", unknown=[], **of_pairs),
            SHELLS[2]: render("contest", timeless, links[2], contest=None),
            NOT_FOUND: render("error", timeless, links[3], **missing),
            FEED: contest_feed(self.facts, self._about(), pages, best, public),
            "favicon.ico": self._statics["favicon.ico"],
            **files_for_crawlers(public, handles, pages),
            **self._problems.shells(timeless),
            **self._player_pages(),
        }

    def _player_pages(self) -> dict[str, str]:
        """The pages of the players who have one of their own, by path."""
        cards = self._players.cards(self.facts, self._recent, self._files) if self._shared.public else {}
        handles, found = self._players.handles, {}
        for one in self._players.players():
            links = SiteLinks(path := own_page(one["handle"]), "", self._assets, self._shared.public, handles, cards)
            found[path] = self._templates.render("player", self.facts, links, player=None, rounds=[], about=one)
        return found

    def _advance(self, rows: int, what: str) -> None:
        """Report progress: each participation is read for contests and histories, each player for two lists."""
        self._done += rows
        self._on_progress(self._done, max(self._total, self._done), what)

    def _named(self, stem: str, value: Any) -> str:
        """Write data under a name with its digest; returns the path."""
        data = encode(value)
        return self._files.put(f"{stem}-{digest(data)}.json.gz", partial(compress, data))


def _branded(brand: Brand, title: str) -> dict[str, bytes]:
    """The web manifest, whose addresses are relative to it, and the logo."""
    icons = [(f"icon-{size}.png", f"{size}x{size}", "image/png") for size in (180, 512)]
    logo = {} if brand.logo is None else {brand.logo.name: brand.logo.data}
    if brand.logo is not None:
        icons.insert(0, (brand.logo.name, "any", brand.logo.media_type))
    return {MANIFEST: manifest(title, brand.description, "../../index.html", icons), **logo}


def _packed(value: Any) -> bytes:
    return compress(encode(value))


def _ratings(builder: LeaderboardBuilder, player: NDArray[np.int32]) -> NDArray[np.float64]:
    """The display rating of some players by now; NaN without a rated round."""
    return np.where(builder.n_rounds[player] > 0, builder.rating[player], np.nan)


def _table(round_index: int, rows: Round) -> pa.Table:
    """Rows of one round, as the leaderboard takes them."""
    columns = {name: rows[name] for name in ("player", "mu", "sigma", "n_before")}
    return pa.table({"round_index": np.full(len(rows["player"]), round_index, np.int32)} | columns)
