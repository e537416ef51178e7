"""What is read beside the pages of a published run: cards, feeds, and the addresses of its pages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from ...answers.players.record import SCORES, places_of, result_of
from ...answers.run import PublishedRun
from ...common.text import capital
from ...results.rating_format import RatingFormat
from ..cards import FIRST_ROWS, ContestCard, PlayerCard, contest_card, player_card
from ..feeds import MOST_ENTRIES, Entry, contest_text, feed, round_text
from ..links import ServerLinks, short
from .periods import gains_of
from .run import facts


def card_of_player(run: PublishedRun, handle: str) -> bytes:
    """The card of a player; raises as :meth:`PublishedRun.player`."""
    one = run.player(handle)
    ratings = run.history(handle).column("rating").to_pylist()
    names = "handle", "rating", "max_rating", "place", "provisional"
    return player_card(PlayerCard(**{name: one[name] for name in names}, ratings=ratings), facts(run))


def card_of_contest(run: PublishedRun, contest_id: str) -> bytes:
    """The card of a contest with the first three, or of a period of games with the largest gains.

    Raises as :meth:`PublishedRun.contest`.
    """
    about, page = run.contest(contest_id, 0, FIRST_ROWS)
    columns = page.rows.select(["place", "handle", "rating", "change"]).to_pydict()
    first = gains_of(run, contest_id) if run.manifest.games else list(zip(*columns.values(), strict=True))
    name, n_players = about["name"] or contest_id, about["n_players"] or page.total
    card = ContestCard(name, about["time_seconds"] or 0, n_players, first, about.get("n_games"))
    return contest_card(card, facts(run))


def contest_feed(run: PublishedRun, links: ServerLinks) -> str:
    """The newest contests."""
    brand, title = run.brand, short(run.brand.title or run.name)
    names = facts(run)
    entries = []
    for row in run.contests(0, MOST_ENTRIES).rows.to_pylist():
        key = row["contest_id"]
        unknown = row["skipped"] or run.manifest.games
        first = [] if unknown else run.contest(key, 0, FIRST_ROWS)[1].rows.column("handle").to_pylist()
        best = [names.name_of(handle) for handle in first]
        text = contest_text(brand, row["n_players"] or 0, best, row.get("n_games"))
        address = links.home if row["skipped"] else links.contest(key)
        name = short(row["name"] or key)
        entries.append(Entry(f"{run.name}/c/{key}", name, _full(links, address), row["time_seconds"] or 0, text))
    addresses = _full(links, links.home), _full(links, links.feed())
    subtitle = brand.description or f"{capital(brand.contests)} and what they changed"
    return feed(run.name, title, subtitle, addresses, entries)


def player_feed(run: PublishedRun, links: ServerLinks, handle: str) -> str:
    """The newest rounds of a player; raises as :meth:`PublishedRun.player`."""
    rows: list[dict[str, Any]] = run.history(handle).to_pylist()[-MOST_ENTRIES:][::-1]
    form, names = RatingFormat(run.titles, run.manifest.decimals), facts(run)
    name = names.name_of(handle)
    entries = []
    for row in rows:
        contest, change = short(row["name"] or row["contest_id"]), row["change"]
        shown = "new" if change is None else form.change(form.difference(row["rating"] - change, row["rating"]))
        result = f"place {row['lo'] + 1:,}"
        if "opponent" in row:
            result = f"{SCORES[result_of(*places_of(row['lo'], row['hi']))]} {names.name_of(row['opponent'])}"
        text = round_text(run.brand.contest, result, form.rating(row["rating"]), shown)
        key = f"{run.name}/p/{handle}/{row['round_index']}/{row.get('opponent', '')}"
        address = _full(links, links.contest(row["contest_id"]))
        entries.append(Entry(key, f"{name}: {contest}", address, row["time_seconds"] or 0, text))
    title = f"{name} · {short(run.brand.title or run.name)}"
    addresses = _full(links, links.player(handle)), _full(links, links.feed_of_player(handle))
    return feed(f"{run.name}/p/{handle}", title, f"{capital(run.brand.contests)} of {name}", addresses, entries)


def addresses(run: PublishedRun, links: ServerLinks) -> Iterator[str]:
    """The absolute addresses of the pages: lists, then contests, newest first, then players, best first."""
    pages = [links.home, *(links.page(name) for name in ("contests", "distribution"))]
    table = run.contests_table.select(["contest_id", "skipped"]).to_pydict()
    rated = [key for key, skipped in zip(*table.values(), strict=True) if not skipped]
    handles = run.leaderboard_table.column("handle").to_pylist()
    return map(links.absolute, chain(pages, map(links.contest, reversed(rated)), map(links.player, handles)))


def n_addresses(run: PublishedRun) -> int:
    """At least the number of :func:`addresses`."""
    return 3 + len(run.ends) + len(run.handles)


def _full(links: ServerLinks, path: str) -> str:
    return links.absolute(path) or path
