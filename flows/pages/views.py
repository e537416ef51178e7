"""What the pages show, as the templates read it: of a published run, and of the tables of a static site."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ..answers.distribution import distribution as bins_of
from ..answers.leaderboard import Group
from ..answers.run import PublishedRun
from ..common.times import AGES, parse_span
from ..results.attributes import COUNTRY, attribute_names
from ..results.rating_format import RatingFormat
from ..results.titles import Titles
from .histogram import title_counts
from .links import Links, ServerLinks
from .pictures import badge, graph
from .places import missing, place_columns, places_line
from .render import RunFacts
from .rows import first_rows, whole_teams

BOARD_ROWS = 200  # of a page of the leaderboard
MOST_CONTESTS = 20_000  # listed, the latest ones
MOST_GROUPS = 300  # of an attribute on the page of groups
ACTIVE = {"90d": "90 days", "1y": "a year", "3y": "3 years"}
"""Choices of the time since the last contest of a player, as for `leaderboard --active`, and their names."""

_BOARD = ("handle", "rating", "sigma", "n_rounds", "max_rating", "last_time_seconds")
_STANDINGS = ("place", "handle", "perf", "rating", "change")
_ALL = {"start": 0, "page": -1, "n_pages": 1, "version": "", "total": 0, "heading": "", "chosen": {}, "choices": None}
_OF_GRAPH = {
    "ids": "contest_id", "names": "name", "times": "time_seconds", "n": "n_players",
    **{name: name for name in ("place", "perf", "mu", "sigma", "rating")},
}  # fmt: skip

Columns = Mapping[str, Sequence[Any]]


def facts(run: PublishedRun) -> RunFacts:
    """The run, for every page."""
    known = run.facts
    form = RatingFormat(run.titles, known["decimals"])
    counts = known["n_players"], known["n_rounds"], known["last_time_seconds"] or 0
    places = places_line(run.places, run.uncertainty)
    names = run.name, known["system"], known["dataset"]
    return RunFacts(*names, *counts, form, run.attributes, known["note"], places, known["n_provisional"])


def board(rows: Columns, **more: Any) -> dict[str, Any]:
    """A page of a leaderboard, by default the first rows of all players; see the template ``leaderboard``."""
    return {"board": rows, **_ALL, **more}


def leaderboard(
    run: PublishedRun, links: ServerLinks, page: int, group: Group | None = None, active: str = ""
) -> dict[str, Any]:
    """Page ``page`` of the leaderboard, from 0.

    ``group``: only players with this value of an attribute.
    ``active``: only players with a contest in this time before the last one, a key of ``ACTIVE``; empty for all.
    """
    start = page * BOARD_ROWS
    found = run.leaderboard(start, BOARD_ROWS, group=group, active=parse_span(active, AGES) if active else None)
    rows = {name: found.rows.column(name).to_pylist() for name in _BOARD} | place_columns(found.rows, run.places)
    if COUNTRY in run.attributes:
        rows["country"] = run.values(COUNTRY, found.rows.column("player"))
    named = [" ".join(group)] if group else []
    heading = ", ".join([*named, f"active within {ACTIVE[active]}"] if active else named)
    chosen = {"group": ":".join(group) if group else "", "active": active}
    best = [row for section in groups(run.groups_table, links)["sections"] for row in section["rows"]]
    choices = {"groups": [f"{row['attribute']}:{row['value']}" for row in best], "active": list(ACTIVE.items())}
    n_pages = -(-found.total // BOARD_ROWS)
    return board(rows, start=start, page=page, n_pages=n_pages, total=found.total, heading=heading, chosen=chosen,
                 choices=choices)  # fmt: skip


def groups(groups: pa.Table, links: Links) -> dict[str, Any]:
    """The first ``MOST_GROUPS`` groups of each attribute; ``groups`` has the columns of ``OF_ATTRIBUTES["groups"]``."""
    of, sections = groups.column("attribute").to_numpy(), []
    for name in attribute_names(groups):
        rows = np.flatnonzero(of == name)
        shown = groups.take(pa.array(rows[:MOST_GROUPS])).to_pylist()
        listed = [row | {"address": links.group(name, row["value"])} for row in shown]
        sections.append({"name": name, "n": len(rows), "rows": listed})
    return {"sections": sections}


def player(run: PublishedRun, handle: str) -> dict[str, Any]:
    """A player with all rounds; raises as :meth:`PublishedRun.player`."""
    one = about(run, run.player(handle))
    rounds = _rounds(run, one["handle"])
    return {"player": one, "rounds": rounds, "history": _history(run, {one["handle"]: rounds})}


def compare(run: PublishedRun, handles: list[str]) -> dict[str, Any]:
    """Several players and their pairs; raises as :meth:`PublishedRun.player`."""
    found: dict[str, Any] = run.compare(handles) if handles else {"players": [], "pairs": [], "note": ""}
    history = _history(run, {one["handle"]: _rounds(run, one["handle"]) for one in found["players"]})
    skills = any("difference" in pair for pair in found["pairs"])
    players = [about(run, one) for one in found["players"]]
    shown = {"players": players, "pairs": found["pairs"], "apart": found["note"]}
    return shown | {"skills": skills, "games": found.get("games"), "history": history}


def about(run: PublishedRun, player: dict[str, Any]) -> dict[str, Any]:
    """A player with what is ``missing`` for a place; None with a place."""
    lacks = missing(run.places, player["n_rounds"], player["sigma"]) if player["provisional"] else None
    return player | {"missing": lacks}


def contests(run: PublishedRun, links: ServerLinks) -> dict[str, Any]:
    """The list of contests, latest first."""
    columns = run.contests(0, MOST_CONTESTS).rows.to_pydict()
    keys = zip(columns["contest_id"], columns["skipped"], strict=True)
    return {"contests": list_of_contests(columns, ["" if skipped else links.contest(key) for key, skipped in keys])}


def list_of_contests(columns: Columns, addresses: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of the template ``contests``; a contest without a page has no address."""
    names = ("contest_id", "name", "time_seconds", "n_players")
    return [
        {"name": name or key, "time_seconds": time, "n_players": n or 0, "address": address}
        for key, name, time, n, address in zip(*(columns[name] for name in names), addresses, strict=True)
    ]


def contest(run: PublishedRun, links: ServerLinks, contest_id: str) -> dict[str, Any]:
    """A contest with all standings, or the first games of a period; raises as :meth:`PublishedRun.contest`."""
    about, page = run.contest(contest_id)
    table = page.rows
    rows = {name: [_finite(value) for value in table.column(name).to_pylist()] for name in _STANDINGS}
    if not all(rated := table.column("rated").to_pylist()):
        rows["rated"] = rated
    if table.column("team").null_count < table.num_rows:
        rows["team"] = table.column("team").to_pylist()
    further = {} if page.next is None else {"all": links.standings(contest_id)}
    return standings(about | further, rows, page.total)


def standings(
    about: Mapping[str, Any], rows: Columns, n_rows: int, most: int | None = None, data: str = ""
) -> dict[str, Any]:
    """A contest and its standings.

    ``about``: ``contest_id, name, url, time_seconds``.
    ``rows``: columns as for :func:`ranklake.flows.pages.rows.standing_rows`.
    ``n_rows``: number of all rows.
    ``most``: rows on the page, perhaps more so that no team is divided; by default all.
    ``data``: address of all rows, if the page has not all.
    """
    team = rows.get("team", [])
    shown = rows if most is None else {name: values[: whole_teams(team, most)] for name, values in rows.items()}
    n_players = len(first_rows(team)) if team else n_rows
    known = {**about, "name": about["name"] or about["contest_id"], "n_players": n_players, "n_rows": n_rows}
    return {"contest": known, "rows": shown, "data": data if n_rows > len(shown["handle"]) else ""}


def distribution(board: pa.Table, titles: Titles, player: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The histogram of the ratings of a leaderboard, and perhaps one player in it."""
    ratings = board.column("rating").to_numpy()
    return {"bins": bins_of(ratings), "titles": title_counts(titles, ratings), "player": player}


def picture(run: PublishedRun, handle: str, name: str) -> str:
    """The ``graph`` or the ``badge`` of a player; raises as :meth:`PublishedRun.player`."""
    if name == "badge":
        one = run.player(handle)
        return badge(handle, one["rating"], facts(run), one["provisional"])
    (one,) = _history(run, {handle: _rounds(run, handle)})["players"]
    return graph(one, facts(run))


def _rounds(run: PublishedRun, handle: str) -> list[dict[str, Any]]:
    """The rounds of a player, oldest first, as the template ``player`` reads them."""
    rounds: list[dict[str, Any]] = run.history(handle).to_pylist()
    form = RatingFormat(run.titles, run.manifest.decimals)
    for row in rounds:
        rating, change, name = row["rating"], row["change"], row["name"] or row["contest_id"]
        row |= {
            "name": f"{name}, {row['opponent']}" if "opponent" in row else name,
            "time_seconds": row["time_seconds"] or 0,
            "n_players": row["n_players"] or 0,
            "place": row["lo"] + 1,
            "perf": _finite(row["perf"]),
            "change": None if change is None else form.difference(rating - change, rating),
        }
    return rounds


def _history(run: PublishedRun, players: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The data of the graph and of its script, given the rounds of each player."""
    columns = [
        {"handle": handle, **{name: [row[of] for row in rounds] for name, of in _OF_GRAPH.items()}}
        for handle, rounds in players.items()
    ]
    return {"run": {"titles": ladder(run.titles), "decimals": run.manifest.decimals}, "players": columns}


def ladder(titles: Titles) -> list[dict[str, Any]]:
    """The titles as the scripts read them, lowest first; the lowest minimum may be None."""
    return [{"name": title.name, "minimum": _finite(title.minimum)} for title in titles.ladder]


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
