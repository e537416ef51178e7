"""What the pages show of a published run, as the templates read it. No HTTP."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ..answers.distribution import distribution as bins_of
from ..answers.leaderboard import Group
from ..answers.run import PublishedRun
from ..common.pools import pools_line
from ..common.times import AGES, parse_span
from ..results.attributes import COUNTRY
from ..results.rating_format import RatingFormat
from .comparison import compare as compare_players
from .graph import Series
from .groups import ACTIVE, group_sections
from .histogram import title_counts
from .links import ServerLinks
from .pictures import badge, graph
from .render import RunFacts
from .teams import first_rows

__all__ = [
    "BOARD_ROWS",
    "compare",
    "contest",
    "contests",
    "distribution",
    "facts",
    "groups",
    "leaderboard",
    "picture",
    "player",
    "preview_form",
]

BOARD_ROWS = 200  # of a page of the leaderboard
MOST_CONTESTS = 20_000  # listed, the latest ones

_BOARD = ("place", "handle", "rating", "sigma", "n_rounds", "max_rating", "last_time_seconds")
_STANDINGS = ("place", "handle", "perf", "rating", "change")


def facts(run: PublishedRun) -> RunFacts:
    """The run, for every page."""
    known = run.facts
    form = RatingFormat(run.titles, known["decimals"])
    counts = known["n_players"], known["n_rounds"], known["last_time_seconds"] or 0
    pools = pools_line(known["pools"] or ())
    return RunFacts(run.name, known["system"], known["dataset"], *counts, form, run.attributes, pools)


def leaderboard(run: PublishedRun, page: int, group: Group | None = None, active: str = "") -> dict[str, Any]:
    """Page ``page`` of the leaderboard, from 0.

    Parameters
    ----------
    group
        Only players with this value of an attribute.
    active
        Only players with a contest in this time before the end of the last contest, a key of ``ACTIVE``; empty for all.
    """
    start = page * BOARD_ROWS
    found = run.leaderboard(start, BOARD_ROWS, group=group, active=parse_span(active, AGES) if active else None)
    board = {name: found.rows.column(name).to_pylist() for name in _BOARD}
    if COUNTRY in run.attributes:
        board["country"] = run.values(COUNTRY, found.rows.column("player"))
    named = [" ".join(group)] if group else []
    heading = ", ".join([*named, f"active within {ACTIVE[active]}"] if active else named)
    chosen = {"group": ":".join(group) if group else "", "active": active}
    n_pages = -(-found.total // BOARD_ROWS)
    return {"board": board, "start": start, "page": page, "n_pages": n_pages, "version": "", "total": found.total,
            "heading": heading, "chosen": chosen, "choices": _choices(run)}  # fmt: skip


def _choices(run: PublishedRun) -> dict[str, Any]:
    """What the form of the leaderboard offers: the best groups of each attribute, and spans of time."""
    rows = [row for section in group_sections(run.groups_table, lambda *_: "") for row in section["rows"]]
    return {"groups": [f"{row['attribute']}:{row['value']}" for row in rows], "active": list(ACTIVE.items())}


def groups(run: PublishedRun, links: ServerLinks) -> dict[str, Any]:
    """The groups of players by attribute."""
    return {"sections": group_sections(run.groups_table, links.group)}


def player(run: PublishedRun, handle: str) -> dict[str, Any]:
    """A player with all rounds; raises as :meth:`PublishedRun.player`."""
    one = _player(run, handle)
    rows = run.history(one["handle"])
    columns, form = _columns(rows), facts(run).format
    if run.manifest.games:
        opponents = rows.column("opponent").to_pylist()
        columns["names"] = [f"{name}, {opponent}" for name, opponent in zip(columns["names"], opponents, strict=True)]
    rounds = [
        {"contest_id": key, "name": name, "time_seconds": time, "place": place, "n_players": n, "perf": perf, "mu": mu,
         "sigma": sigma, "rating": rating, "team": team,
         "change": None if change is None else form.difference(rating - change, rating)}
        for key, name, time, place, n, perf, mu, sigma, rating, change, team in zip(
            *(columns[c] for c in ("ids", "names", "times", "place", "n", "perf", "mu", "sigma", "rating")),
            *(rows.column(c).to_pylist() for c in ("change", "team")), strict=True,
        )
    ]  # fmt: skip
    return {
        "player": one,
        "rounds": rounds,
        "series": _series(one["handle"], columns),
        "history": _history(run, [{"handle": one["handle"], **columns}]),
    }


def compare(run: PublishedRun, handles: list[str]) -> dict[str, Any]:
    """Several players and their pairs; raises as :meth:`PublishedRun.player`."""
    players = [_player(run, handle) for handle in handles]
    players = list({one["handle"]: one for one in players}.values())
    columns = {one["handle"]: _columns(run.history(one["handle"])) for one in players}
    found: dict[str, Any] = compare_players(run, list(columns)) if columns else {"pairs": [], "note": ""}
    pairs = [
        {"a": pair["handle"], "b": pair["against"], "rounds": pair["wins"] + pair["losses"] + pair["draws"],
         "a_first": pair["wins"], "b_first": pair["losses"], "ties": pair["draws"], "chance": pair["chance"]}
        for pair in found["pairs"]
    ]  # fmt: skip
    return {
        "players": players,
        "all_series": [_series(handle, values) for handle, values in columns.items()],
        "pairs": pairs,
        "apart": found["note"],
        "history": _history(run, [{"handle": handle, **values} for handle, values in columns.items()]),
    }


def contests(run: PublishedRun, links: ServerLinks) -> dict[str, Any]:
    """The list of contests, latest first."""
    names = ["contest_id", "name", "time_seconds", "n_players", "skipped"]
    listed = [
        {"name": row["name"] or row["contest_id"], "time_seconds": row["time_seconds"],
         "n_players": row["n_players"] or 0, "address": "" if row["skipped"] else links.contest(row["contest_id"])}
        for row in run.contests(0, MOST_CONTESTS).rows.select(names).to_pylist()
    ]  # fmt: skip
    return {"contests": listed}


def contest(run: PublishedRun, links: ServerLinks, contest_id: str) -> dict[str, Any]:
    """A contest with all standings, or the first games of a period; raises as :meth:`PublishedRun.contest`."""
    about, page = run.contest(contest_id)
    table = page.rows
    rows = {name: [_finite(value) for value in table.column(name).to_pylist()] for name in _STANDINGS}
    about |= {"name": about["name"] or contest_id, "n_players": page.total, "n_rows": page.total}
    if page.next is not None:
        about["all"] = links.standings(contest_id)
    if not all(rated := table.column("rated").to_pylist()):
        rows["rated"] = rated
    if table.column("team").null_count < table.num_rows:
        rows["team"] = table.column("team").to_pylist()
        about["n_players"] = len(first_rows(rows["team"]))
    return {"contest": about, "rows": rows, "data": ""}


def distribution(run: PublishedRun, handle: str | None) -> dict[str, Any]:
    """The histogram, and one player in it; raises as :meth:`PublishedRun.player`."""
    ratings = run.leaderboard_table.column("rating").to_numpy()
    one = None if handle is None else _player(run, handle)
    return {"bins": bins_of(ratings), "titles": title_counts(run.titles, ratings), "player": one}


def preview_form(
    text: str = "",
    entrants: str = "",
    teams: bool = False,
    rows: dict[str, list[Any]] | None = None,
    error: str = "",
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """The form for a preview, with what it had, and the columns of the preview or the reason why there is none."""
    return {"text": text, "entrants": entrants, "teams": teams, "rows": rows, "error": error, "notes": notes}


def picture(run: PublishedRun, handle: str, name: str) -> str:
    """The ``graph`` or the ``badge`` of a player; raises as :meth:`PublishedRun.player`."""
    if name == "badge":
        return badge(handle, run.player(handle)["rating"], facts(run))
    return graph(_series(handle, _columns(run.history(handle))), facts(run))


def _player(run: PublishedRun, handle: str) -> dict[str, Any]:
    one = run.player(handle)
    return one | {"below": one["percentile"] / 100}


def _columns(rows: pa.Table) -> dict[str, list[Any]]:
    """The history of a player, one list a column, as graph.js reads it."""
    found: dict[str, list[Any]] = {name: rows.column(name).to_pylist() for name in ("mu", "sigma", "rating")}
    ids, names = rows.column("contest_id").to_pylist(), rows.column("name").to_pylist()
    return found | {
        "ids": ids,
        "names": [name or key for key, name in zip(ids, names, strict=True)],
        "times": [time or 0 for time in rows.column("time_seconds").to_pylist()],
        "n": [n or 0 for n in rows.column("n_players").to_pylist()],
        "place": [lo + 1 for lo in rows.column("lo").to_pylist()],
        "perf": [_finite(value) for value in rows.column("perf").to_pylist()],
    }


def _series(handle: str, columns: dict[str, list[Any]]) -> Series:
    return Series(handle, *(columns[name] for name in ("times", "rating", "mu", "sigma", "perf")))


def _history(run: PublishedRun, players: list[dict[str, Any]]) -> dict[str, Any]:
    """The data of the graph's script."""
    titles = [
        {"name": title.name, "minimum": low if math.isfinite(low) else None} for low, _, title in run.titles.bands()
    ]
    return {"run": {"titles": titles, "decimals": run.manifest.decimals}, "players": players}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
