"""A comparison of players: their common rounds, and the score and the chance of each pair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .index_rows import IndexRows

_Places = tuple[int, dict[str, int]]  # number of a round, and the places of players
_Teams = dict[str, str]  # the team of each player


def compare(tables: IndexRows, players: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The rounds with at least two of the players, and the wins, losses, draws and ``chance`` of each pair.

    Members of one team share its place: such a round is neither a win nor a loss nor a draw of theirs. A round of teams
    has ``teams``, the name of each player's team. Of periods of games, the games of two of the players are the rounds.

    The chance is that of the first player to finish before the other, at the time of the last round. A tie counts half.

    ``players``: rows of the leaderboard.

    The chance is as by ``ranklake predict``, but from the published mean, sigma, rounds and last contest alone: for a
    published version it never changes. Other state, such as the volatility of ``glicko2``, is that of a newcomer.
    """
    common, teams = _games(tables, players) if tables.manifest.games else _rounds(tables, players)
    facts = tables.contests_table.select(["contest_id", "name", "time_seconds", "n_players"])
    contests = [
        {"round_index": index, **facts.slice(index, 1).to_pylist()[0], "places": found}
        | ({"teams": teams[index]} if index in teams else {})
        for index, found in common
    ]
    handles = [player["handle"] for player in players]
    rounds = [(found, teams.get(index, {})) for index, found in common]
    pairs = [_score(one, other, rounds) for one, other in combinations(handles, 2)]
    if pairs:
        beats, both = _chances(tables, players), combinations(range(len(players)), 2)
        pairs = [pair | {"chance": float(beats[i, j])} for pair, (i, j) in zip(pairs, both, strict=True)]
    return {"players": list(players), "pairs": pairs, "contests": contests}


def _rounds(tables: IndexRows, players: Sequence[dict[str, Any]]) -> tuple[list[_Places], dict[int, _Teams]]:
    """The common rounds, each with the places of the players in it; and the teams of the players, by round."""
    places: dict[int, dict[str, int]] = {}
    teams: dict[int, _Teams] = {}
    for player in players:
        columns = tables.rows_of(player["player"]).select(["round_index", "lo", "team"]).to_pydict()
        for index, lo, team in zip(*columns.values(), strict=True):
            places.setdefault(index, {})[player["handle"]] = lo + 1
            if team is not None:
                teams.setdefault(index, {})[player["handle"]] = team
    return [(index, found) for index, found in sorted(places.items()) if len(found) > 1], teams


def _games(tables: IndexRows, players: Sequence[dict[str, Any]]) -> tuple[list[_Places], dict[int, _Teams]]:
    """The games of two of the players in order of periods, as :func:`_rounds`; there are no teams."""
    handles, games = {player["player"]: player["handle"] for player in players}, []
    for player, handle in handles.items():
        opponents = tables.opponents_of(player)
        rows = np.flatnonzero(np.isin(opponents, [other for other in handles if other > player]))  # each game once
        columns = tables.rows_of(player).select(["round_index", "lo", "hi"]).take(pa.array(rows)).to_pydict()
        for other, index, lo, hi in zip(opponents[rows].tolist(), *columns.values(), strict=True):
            games.append((index, {handle: lo + 1, handles[other]: 1 if lo < hi else 2 - lo}))
    return sorted(games, key=itemgetter(0)), {}


def _score(one: str, other: str, rounds: Sequence[tuple[dict[str, int], dict[str, str]]]) -> dict[str, Any]:
    both = [
        (places[one], places[other])
        for places, teams in rounds
        if one in places and other in places and not (one in teams and teams[one] == teams.get(other))
    ]
    return {
        "handle": one,
        "against": other,
        "wins": sum(a < b for a, b in both),
        "losses": sum(a > b for a, b in both),
        "draws": sum(a == b for a, b in both),
    }


def _chances(tables: IndexRows, players: Sequence[dict[str, Any]]) -> npt.NDArray[np.float64]:
    """The chance of each player (row) to finish before each other one (column); imports kernels."""
    from ..frames.prediction import Prediction

    display = tables.display
    system, params = display.system, display.params
    mu, sigma = (np.array([player[name] for player in players], np.float64) for name in ("mu", "sigma"))
    columns = system.newcomers(params, len(players)).columns()
    columns |= {"mu": mu, "sigma": sigma, **system.state(params, mu, sigma)}
    columns["n_rounds"] = np.array([player["n_rounds"] for player in players], np.int32)
    columns["last_time"] = np.array([player["last_time_seconds"] for player in players], np.int64)
    handles = [player["handle"] for player in players]
    time_seconds = tables.last_time_seconds or 0
    return Prediction(display, handles, columns, time_seconds, tables.manifest.n_rounds).chances()
