"""A comparison of players: their common rounds, and the score and the chance of each pair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..results.components import apart
from .contests import HistoryRows, changes
from .players.record import places_of

if TYPE_CHECKING:  # imports kernels
    from ..chances.to_come import GamesToCome
    from ..frames.prediction import Prediction

_Places = tuple[int, dict[str, int]]  # number of a round, and the places of players
_Teams = dict[str, str]  # the team of each player
_Changes = dict[str, float | None]  # of the rating of each player, None in the first round


def compare(
    rows: HistoryRows,
    players: Sequence[dict[str, Any]],
    components: Sequence[int],
    games: GamesToCome | None = None,
    neutral: bool = True,
    deviations: Any = None,
) -> dict[str, Any]:
    """The rounds with at least two of the players, and of each pair the wins, losses, draws, and the numbers of
    :meth:`.Prediction.pairs`: ``chance``, with an uncertainty of skills the difference, of ``games`` three chances.

    A pair is once among the pairs if the game is on ``neutral`` ground, otherwise with each player as the first one.

    Members of one team share its place: such a round is neither a win nor a loss nor a draw of theirs. A round of teams
    has ``teams``, the name of each player's team. A round has the ``changes`` of the ratings, None in a first round. Of
    periods of games, the games of two of the players are the rounds, without changes.

    The chance is that of the first player to finish before the other, at the time of the last round. A tie counts half.

    ``note`` says that two of the players never met, not even through others; it is empty if all did. ``connected`` of
    a pair is whether its players did.

    ``players``: rows of the leaderboard.
    ``components``: the number of the component of each; -1 if it is not known.
    ``deviations`` (float64[n, n]): of the differences of all pairs, as for :class:`.Prediction`.

    The chance is as by ``ranklake predict``, but from the mean, sigma, rounds and last contest of the leaderboard: for
    a published version it never changes. Other state, such as the volatility of ``glicko2``, is that of a newcomer.
    """
    common, teams, changed = _common(rows, players)
    facts = rows.contests_table.select(["contest_id", "name", "time_seconds", "n_players"])
    contests = [
        {"round_index": index, **facts.slice(index, 1).to_pylist()[0], "places": found}
        | ({"teams": teams[index]} if index in teams else {})
        | ({"changes": changed[index]} if index in changed else {})
        for index, found in common
    ]
    handles = [player["handle"] for player in players]
    rounds = [(found, teams.get(index, {})) for index, found in common]
    ordered = list((combinations if neutral or games is None else permutations)(range(len(players)), 2))
    pairs = [_score(handles[one], handles[other], rounds) for one, other in ordered]
    if pairs:
        one, other = np.array(ordered).T
        columns = _prediction(rows, players, components, games, deviations).pair_columns(one, other, neutral)
        numbers = zip(*(values.tolist() for values in columns.values()), strict=True)
        pairs = [pair | dict(zip(columns, of, strict=True)) for pair, of in zip(pairs, numbers, strict=True)]
    notes = [
        apart(components, [player.get("name") or player["handle"] for player in players]),
        "" if games is None else games.note,
    ]
    found = {"players": list(players), "pairs": pairs, "contests": contests, "note": "; ".join(filter(None, notes))}
    return found if games is None else found | {"games": games.facts() | {"neutral": neutral}}


def _common(
    rows: HistoryRows, players: Sequence[dict[str, Any]]
) -> tuple[list[_Places], dict[int, _Teams], dict[int, _Changes]]:
    """The common rounds, or games, each with the places of the players in it; by round the teams of the players, and
    the changes of their ratings.
    """
    handles = {player["player"]: player["handle"] for player in players}
    places: dict[int, dict[str, int]] = {}
    teams: dict[int, _Teams] = {}
    changed: dict[int, _Changes] = {}
    games: list[_Places] = []
    for player, handle in handles.items():
        history = rows.history_rows([player])
        if "opponent" in history.column_names:
            columns = (history.column(name).to_pylist() for name in ("round_index", "lo", "hi", "opponent"))
            for index, lo, hi, other in zip(*columns, strict=True):
                if other > player and other in handles:  # each game once
                    games.append((index, dict(zip((handle, handles[other]), places_of(lo, hi), strict=True))))
            continue
        columns = (history.column(name).to_pylist() for name in ("round_index", "lo", "team"))
        for index, lo, team, change in zip(*columns, changes(rows, history).to_pylist(), strict=True):
            places.setdefault(index, {})[handle] = lo + 1
            changed.setdefault(index, {})[handle] = change
            if team is not None:
                teams.setdefault(index, {})[handle] = team
    common = [(index, found) for index, found in sorted(places.items()) if len(found) > 1]
    return sorted(games, key=itemgetter(0)) or common, teams, changed


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


def _prediction(
    rows: HistoryRows,
    players: Sequence[dict[str, Any]],
    components: Sequence[int],
    games: GamesToCome | None,
    deviations: Any,
) -> Prediction:
    """A round of the players at the time of the last one; imports kernels."""
    from ..frames.prediction import Prediction

    display = rows.display
    system, params = display.system, display.params
    mu, sigma = (np.array([player[name] for player in players], np.float64) for name in ("mu", "sigma"))
    columns = system.newcomers(params, len(players)).columns()
    columns |= {"mu": mu, "sigma": sigma, **system.state(params, mu, sigma)}
    columns["n_rounds"] = np.array([player["n_rounds"] for player in players], np.int32)
    columns["last_time"] = np.array([player["last_time_seconds"] for player in players], np.int64)
    handles = [player["handle"] for player in players]
    known = rows.contests_table.column("time_seconds").drop_null()
    time_seconds = known[-1].as_py() if len(known) else 0
    n_rounds = rows.contests_table.num_rows
    of_pairs: dict[str, Any] = {"components": components, "games": lambda: games, "deviations": lambda: deviations}
    return Prediction(display, handles, columns, time_seconds, n_rounds, **of_pairs)
