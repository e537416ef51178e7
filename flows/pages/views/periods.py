"""A period of games: a row a game, with both players.

``rows`` are a list for each of ``place, handle, rating, change``, two rows a game, one after the other, the winner
first; ``place`` is that in the game, and the change of a newcomer is None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ...answers.contests import ALL_ROWS
from ...answers.run import PublishedRun
from ..links import ServerLinks
from ..rows import page_edges
from .contests import NO_STEPS, Columns, Steps, movers, named, select, shown_rows, steps_of

PAGE_GAMES = 200  # of a page
_GAMES = ("place", "handle", "rating", "change")


def period(run: PublishedRun, links: ServerLinks, contest_id: str, page: int = 0, q: str = "") -> dict[str, Any]:
    """A page of the games of a period; ``page``, ``q``: as for :func:`games`.

    Raises as that, and as :meth:`PublishedRun.contest`.
    """
    about, found = run.contest(contest_id, 0, ALL_ROWS)
    rows, steps = found.rows.select(_GAMES).to_pydict(), steps_of(run, links, contest_id)
    address = lambda number, q=q: links.contest(contest_id, page=number, q=q)  # noqa: E731
    return games(about, rows, page, q, PAGE_GAMES, names=run.names, steps=steps, address=address)


def games(
    about: Mapping[str, Any],
    rows: Columns,
    page: int = 0,
    q: str = "",
    most: int = PAGE_GAMES,
    *,
    names: Mapping[str, str] = MappingProxyType({}),
    steps: Steps = NO_STEPS,
    address: Callable[..., str] = lambda number, q="": "",
    data: str = "",
) -> dict[str, Any]:
    """What the template ``period`` reads, given all games of a period.

    ``about``: ``contest_id, name, url, time_seconds`` of the period.
    ``page``: number of the page of ``most`` games, from 0, among the games that have each word of ``q`` in the names of
    their players; all of them without ``q``.
    ``names``, ``steps``, ``address``, ``data``: as for :func:`.contests.standings`.
    Raises ``BeyondEndError``.
    """
    n_rows = len(rows["handle"])
    found = select(rows, named(rows, q, names, range(0, n_rows, 2))) if q else rows
    edges = page_edges((), len(found["handle"]), 2 * most)
    by_player = _by_player(rows)
    known = {
        **about, "name": about["name"] or about["contest_id"], "n_games": n_rows // 2,
        "n_players": len(by_player["handle"]), "n_new": by_player["change"].count(None),
    }  # fmt: skip
    gains, losses = ([], []) if page or q else movers(by_player)
    return {
        "period": known, "rows": shown_rows(found, edges, page, 2 * most), "q": q, "page": page,
        "n_pages": len(edges) - 1, "n_found": len(found["handle"]) // 2, "first": edges[page] // 2, "gains": gains,
        "losses": losses, "previous": steps[0], "next": steps[1], "address": address, "data": data,
    }  # fmt: skip


def gains_of(run: PublishedRun, contest_id: str) -> list[tuple[None, str, float, float]]:
    """The largest gains over a period, as rows of :class:`.ContestCard`; raises as :meth:`PublishedRun.contest`."""
    rows = run.contest(contest_id, 0, ALL_ROWS)[1].rows.select(_GAMES).to_pydict()
    gains, _ = movers(_by_player(rows))
    return [(None, one["handle"], one["rating"], one["rating"] - one["before"]) for one in gains]


def _by_player(rows: Columns) -> dict[str, list[Any]]:
    """``handle, rating, change`` of each player over all games, the change None of a newcomer."""
    first: dict[str, float | None] = {}
    last: dict[str, float] = {}
    for handle, rating, change in zip(rows["handle"], rows["rating"], rows["change"], strict=True):
        first.setdefault(handle, None if change is None else rating - change)
        last[handle] = rating
    changes = [None if before is None else last[handle] - before for handle, before in first.items()]
    return {"handle": list(first), "rating": [last[handle] for handle in first], "change": changes}
