"""A player with all rounds, and several players beside each other."""

from __future__ import annotations

from typing import Any

from ranklake.storage.names.lists import join_handles

from ...answers.run import PublishedRun
from ...common.finite import finite_json
from ...results.rating_format import RatingFormat
from ..pictures import badge, graph
from ..places import missing
from .graph_data import ALL, Window, graph_data
from .run import facts


def player(run: PublishedRun, handle: str, window: Window = ALL) -> dict[str, Any]:
    """A player with all rounds; the graph shows a ``window``. Raises as :meth:`PublishedRun.player`."""
    one = about(run, run.player(handle))
    rounds = _rounds(run, one["handle"])
    return {"player": one, "rounds": rounds, "history": graph_data(run, {one["handle"]: rounds}, window)}


def compare(run: PublishedRun, handles: list[str], window: Window = ALL) -> dict[str, Any]:
    """Several players and their pairs, and what is near unknown handles; the graph shows a ``window``."""
    found: dict[str, Any] = run.compare(handles)
    rounds = {one["handle"]: _rounds(run, one["handle"]) for one in found["players"]}
    history = graph_data(run, rounds, window, h=join_handles(rounds))
    skills = any("difference" in pair for pair in found["pairs"])
    players = [about(run, one) for one in found["players"]]
    shown = {"players": players, "pairs": found["pairs"], "apart": found["note"], "unknown": found["unknown"]}
    shown["asked"] = join_handles(one["handle"] for one in players)
    return shown | {"skills": skills, "games": found.get("games"), "history": history}


def about(run: PublishedRun, player: dict[str, Any]) -> dict[str, Any]:
    """A player with what is ``missing`` for a place; None with a place."""
    lacks = missing(run.places, player["n_rounds"], player["sigma"]) if player["provisional"] else None
    return player | {"missing": lacks}


def picture(run: PublishedRun, handle: str, name: str, window: Window = ALL) -> str:
    """The ``graph`` or the ``badge`` of a player; raises as :meth:`PublishedRun.player`."""
    if name == "badge":
        one = run.player(handle)
        return badge(handle, one["rating"], facts(run), one["provisional"])
    return graph(graph_data(run, {handle: _rounds(run, handle)}, window), facts(run))


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
            "perf": finite_json(row["perf"]),
            "change": None if change is None else form.difference(rating - change, rating),
        }
    return rounds
