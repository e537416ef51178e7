"""A player with all rounds, and several players beside each other."""

from __future__ import annotations

from functools import partial
from typing import Any

from ranklake.storage.names.lists import join_handles

from ...answers.leaderboard import check_start
from ...answers.players.career import YEAR
from ...answers.players.record import POINTS, result_of
from ...answers.run import PublishedRun
from ...results.rating_format import RatingFormat
from ..links import ServerLinks
from ..pictures import badge, graph
from ..places import missing
from .graph_data import ALL, Window, graph_data
from .rounds import joined, record_of, rounds_of
from .run import facts

COMMON_ROWS = 100  # of a page of common contests; compare.js has the same
ROUND_ROWS = 200  # of a page of the table of a player; player.js has the same


def player(run: PublishedRun, links: ServerLinks, handle: str, page: int = 0, window: Window = ALL) -> dict[str, Any]:
    """A player with the graph of all rounds and the table of those of a ``page``, from 0, the latest ones first.

    ``window``: what the graph shows. Raises as :meth:`PublishedRun.player`, and :class:`.BeyondEndError`.
    """
    one = about(run, run.player(handle))
    rounds = rounds_of(run, one["handle"])
    rows = joined(rounds, RatingFormat(run.titles, run.manifest.decimals))
    check_start(page * ROUND_ROWS, len(rows), ROUND_ROWS)
    stop = len(rows) - page * ROUND_ROWS
    pages = {"page": page, "n_pages": -(-len(rows) // ROUND_ROWS), "pages": partial(links.player_page, one["handle"])}
    history = graph_data(run, {one["handle"]: rounds}, window)
    shown = rows[max(stop - ROUND_ROWS, 0) : stop]
    return {"player": one, "rounds": shown, "record": record_of(rounds), "history": history, **pages}


def compare(
    run: PublishedRun, links: ServerLinks, handles: list[str], page: int = 0, window: Window = ALL
) -> dict[str, Any]:
    """Several players, their pairs, what is near unknown handles, and a ``page`` of common contests, from 0, the latest
    ones first.

    ``window``: what the graph shows. Raises :class:`.BeyondEndError`.
    """
    found: dict[str, Any] = run.compare(handles)
    players = [about(run, one) for one in found["players"]]
    names, contests = [one["handle"] for one in players], found["contests"][::-1]
    start, total = page * COMMON_ROWS, len(contests)
    check_start(start, total, COMMON_ROWS)
    others = {name: links.compare([one for one in names if one != name]) for name in names}
    pages = {"page": page, "n_pages": -(-total // COMMON_ROWS), "pages": partial(links.compare, names)}
    return {
        "players": players, "pairs": found["pairs"], "apart": found["note"], "without": others,
        "unknown": found["unknown"], "asked": join_handles(names),
        "matrix": _matrix(names, found["pairs"]), "total": total, **pages,
        "contests": [_common(one, names) for one in contests[start : start + COMMON_ROWS]],
        "skills": any("difference" in pair for pair in found["pairs"]), "games": found.get("games"),
        "history": graph_data(run, {name: rounds_of(run, name) for name in names}, window, h=join_handles(names)),
    }  # fmt: skip


def _matrix(names: list[str], pairs: list[dict[str, Any]]) -> list[list[dict[str, Any] | None]]:
    """A row for each player with a cell for each: None with oneself, else ``chance, wins, losses, draws``."""
    cells = {}
    for pair in pairs:
        one, other, chance = pair["handle"], pair["against"], pair["chance"]
        score = {"wins": pair["wins"], "losses": pair["losses"], "draws": pair["draws"]}
        cells[one, other] = {"chance": chance, **score}
        cells[other, one] = {"chance": 1.0 - chance, **score, "wins": pair["losses"], "losses": pair["wins"]}
    return [[cells.get((one, other)) for other in names] for one in names]


def _common(contest: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """A common contest, or game, with cells of the players: None, or ``place`` (of a game ``score``) and ``change``."""
    places = contest["places"]

    def cell(name: str) -> dict[str, Any] | None:
        if (place := places.get(name)) is None:
            return None
        if "changes" not in contest:
            (other,) = (places[one] for one in places if one != name)
            return {"score": POINTS[result_of(place, other)], "change": None}
        return {"place": place, "change": contest["changes"][name]}

    return contest | {"cells": [cell(name) for name in names]}


def about(run: PublishedRun, player: dict[str, Any]) -> dict[str, Any]:
    """A player with what is ``missing`` for a place, None with a place, and with ``caution``, which says why the rating
    is below mu, or is empty; the changes and the points to the next title are the differences of the ratings that are
    shown.
    """
    lacks = missing(run.places, player["n_rounds"], player["sigma"]) if player["provisional"] else None
    last, end = player["last_time_seconds"], run.last_time_seconds
    form, rating, title = RatingFormat(run.titles, run.manifest.decimals), player["rating"], player["next_title"]
    changes = {
        name: None if (value := player[name]) is None else form.difference(rating - value, rating)
        for name in ("change", "change_year")
    }
    points = title and title | {"points": max(form.difference(rating, title["minimum"]), form.least)}
    caution = _caution(run, player, form)
    inactive = bool(last) and end is not None and last <= end - YEAR
    return player | {"missing": lacks, **changes, "next_title": points, "inactive": inactive, "caution": caution}


def _caution(run: PublishedRun, player: dict[str, Any], form: RatingFormat) -> str:
    """Why the rating is below mu; empty unless its uncertainty lowers it as it is shown. player.js says the same."""
    about, mu, limit = run.manifest, player["mu"], run.sigma_limit
    by = form.difference(mu - about.deviations * (player["sigma"] - limit), mu)
    if about.deviations <= 0 or by <= 0 or player["rating"] >= mu:
        return ""
    above = f"(σ − {limit:.4g})" if limit else "σ"
    level = ", less a shift that keeps the level of all ratings" if about.shift is not None else ""
    least = "" if about.minimum is None else f", at least {form.rating(about.minimum)}"
    return (
        f"The uncertainty σ lowers the rating by {form.rating(by)}: it is μ − {about.deviations:.4g} × {above}"
        f"{level}{least}. It comes nearer to μ as further {run.brand.contests} make σ smaller."
    )


def picture(run: PublishedRun, handle: str, name: str, window: Window = ALL) -> str:
    """The ``graph`` or the ``badge`` of a player; raises as :meth:`PublishedRun.player`."""
    if name == "badge":
        one = run.player(handle)
        return badge(handle, one["rating"], facts(run), one["provisional"])
    return graph(graph_data(run, {handle: rounds_of(run, handle)}, window), facts(run))
