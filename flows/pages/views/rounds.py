"""The rounds of a player, as the templates and the graph read them; the games of a period are one row of the table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from ...answers.contests import games_of
from ...answers.players.record import SCORES, Game, best_win, record
from ...answers.run import PublishedRun
from ...common.finite import finite_json
from ...results.rating_format import RatingFormat

LISTED_GAMES = 20  # of a row

Rows = Sequence[dict[str, Any]]


def rounds_of(run: PublishedRun, handle: str) -> list[dict[str, Any]]:
    """The rounds of a player, oldest first: ``contest_id, name, time_seconds, place, n_players, perf, mu, sigma``,
    ``rating``, ``before`` and ``change`` (None in the first), ``team`` (None of an individual).

    If all contests are of two individuals, each game is a row with the ``game`` and without a place; ``title`` is the
    name of the contest, and ``name`` also has result and opponent. Raises as :meth:`PublishedRun.player`.
    """
    rounds: list[dict[str, Any]] = run.history(handle).to_pylist()
    form = RatingFormat(run.titles, run.manifest.decimals)
    for row in rounds:
        rating, change = row["rating"], row["change"]
        row |= {
            "name": row["name"] or row["contest_id"],
            "time_seconds": row["time_seconds"] or 0,
            "n_players": row["n_players"] or 0,
            "place": row["lo"] + 1,
            "perf": finite_json(row["perf"]),
            "before": None if change is None else rating - change,
            "change": None if change is None else form.difference(rating - change, rating),
        }
    games = games_of(run, run.handles.player(run.handles.row(handle)))
    for row, game in zip(rounds, games or (), strict=games is not None):
        shown = f"{SCORES[game.result]} {run.names.get(game.opponent, game.opponent)}, {row['name']}"
        row |= {"game": game, "title": row["name"], "name": shown, "place": None, "n_players": None}
    return rounds


def joined(rounds: Rows, form: RatingFormat) -> list[dict[str, Any]]:
    """The rows of the table: the games of a period are one, other rounds stay.

    ``games`` are the first ones, ``opponent, result, score`` of each, ``n_games`` is their number. The change is that
    over all of them, the rating is that after the last one, and the performance is the mean.
    """
    return [_joined(list(rows), form) for _, rows in groupby(rounds, key=lambda row: row["round_index"])]


def _joined(rows: Rows, form: RatingFormat) -> dict[str, Any]:
    first, last = rows[0], rows[-1]
    if "game" not in last:
        return last
    played: list[Game] = [row["game"] for row in rows]
    known = [row["perf"] for row in rows if row["perf"] is not None]
    return last | {
        "games": [
            {"opponent": game.opponent, "result": game.result, "score": SCORES[game.result]}
            for game in played[:LISTED_GAMES]
        ],
        "n_games": len(played),
        "perf": sum(known) / len(known) if known else None,
        "change": None if first["before"] is None else form.difference(first["before"], last["rating"]),
    }


def record_of(rounds: Rows) -> dict[str, Any] | None:
    """The record of a player's games: that of :func:`.record`, and as ``best`` the best win, None without one:
    ``opponent``, ``rating`` of the opponent before the game, ``contest_id``, ``title``, ``time_seconds``.

    ``rounds``: of :func:`rounds_of`. None unless all contests are of two individuals.
    """
    if not rounds or "game" not in rounds[0]:
        return None
    games: list[Game] = [row["game"] for row in rounds]
    found, at = record([game.result for game in games]), best_win(games)
    best = None
    if at is not None:
        best = {"opponent": games[at].opponent, "rating": games[at].rating}
        best |= {name: rounds[at][name] for name in ("contest_id", "title", "time_seconds")}
    return {name: getattr(found, name) for name in found.__slots__} | {"best": best}
