"""A comparison of players: their common rounds and the score of each pair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from .tables import PublishedTables

__all__ = ["compare"]


def compare(tables: PublishedTables, players: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The rounds with at least two of the players, and the wins, losses and draws of each pair.

    Parameters
    ----------
    players
        Rows of the leaderboard.
    """
    places: dict[int, dict[str, int]] = {}
    for player in players:
        rows = tables.rows_of(player["player"])
        for index, lo in zip(*(rows.column(name).to_pylist() for name in ("round_index", "lo")), strict=True):
            places.setdefault(index, {})[player["handle"]] = lo + 1
    common = {index: found for index, found in sorted(places.items()) if len(found) > 1}
    facts = tables.contests_table.select(["contest_id", "name", "time_seconds", "n_players"])
    contests = [
        {"round_index": index, **facts.slice(index, 1).to_pylist()[0], "places": found}
        for index, found in common.items()
    ]
    handles = [player["handle"] for player in players]
    pairs = [_score(one, other, list(common.values())) for one, other in combinations(handles, 2)]
    return {"players": list(players), "pairs": pairs, "contests": contests}


def _score(one: str, other: str, rounds: Sequence[dict[str, int]]) -> dict[str, Any]:
    both = [(places[one], places[other]) for places in rounds if one in places and other in places]
    return {
        "handle": one,
        "against": other,
        "wins": sum(a < b for a, b in both),
        "losses": sum(a > b for a, b in both),
        "draws": sum(a == b for a, b in both),
    }
