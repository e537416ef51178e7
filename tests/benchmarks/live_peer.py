"""What one writes without ranklake: the packages `openskill` and `glicko2` behind a Starlette endpoint with SQLite.

    python live_peer.py openskill|glicko2 DATABASE PORT

A match of two players is rated and committed before its answer, as in their manuals: two rows are read, one call of the
package rates them, two rows and the match are written in one transaction, with SQLite's full synchronisation. An id
that is known gets its first answer. The matches of a list are rated alike, all in one transaction.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable
from typing import Any

State = tuple[float, float, float]  # of a player: mean, deviation, volatility; in the units of the package

TABLES = """
CREATE TABLE IF NOT EXISTS players (handle TEXT PRIMARY KEY, mu REAL, sigma REAL, volatility REAL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS matches (id TEXT PRIMARY KEY, answer TEXT) WITHOUT ROWID;
"""
NEWCOMERS: dict[str, State] = {"openskill": (25.0, 25.0 / 3.0, 0.0), "glicko2": (1500.0, 350.0, 0.06)}


def connect(path: str) -> sqlite3.Connection:
    """The database with its tables."""
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    database.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; {TABLES}")
    return database


def fill(path: str, package: str, n_players: int) -> None:
    """Players p0, p1, ... as newcomers of a package."""
    database = connect(path)
    database.execute("BEGIN")
    rows = ((f"p{number}", *NEWCOMERS[package]) for number in range(n_players))
    database.executemany("INSERT INTO players VALUES (?, ?, ?, ?)", rows)
    database.execute("COMMIT")
    database.close()


def rater(package: str) -> Callable[[State, State, float], tuple[State, State]]:
    """The states of two players after a game with a score of the first one."""
    if package == "openskill":
        from openskill.models import PlackettLuce

        model = PlackettLuce()

        def by_openskill(one: State, other: State, score: float) -> tuple[State, State]:
            teams = [[model.rating(mu, sigma)] for mu, sigma, _ in (one, other)]
            (first,), (second,) = model.rate(teams, scores=[score, 1.0 - score])
            return (first.mu, first.sigma, 0.0), (second.mu, second.sigma, 0.0)

        return by_openskill

    from glicko2 import Player

    def by_glicko2(one: State, other: State, score: float) -> tuple[State, State]:
        first, second = Player(*one), Player(*other)
        first.update_player([other[0]], [other[1]], [score])
        second.update_player([one[0]], [one[1]], [1.0 - score])
        return tuple((player.rating, player.rd, player.vol) for player in (first, second))  # type: ignore[return-value]

    return by_glicko2


def application(package: str, path: str) -> Any:
    """The Starlette application."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    database, rate = connect(path), rater(package)

    def state(handle: str) -> State | None:
        found = database.execute("SELECT mu, sigma, volatility FROM players WHERE handle = ?", (handle,)).fetchone()
        return None if found is None else tuple(found)

    def accept(match: dict[str, Any]) -> dict[str, Any]:
        known = database.execute("SELECT answer FROM matches WHERE id = ?", (match["id"],)).fetchone()
        if known is not None:
            answer: dict[str, Any] = json.loads(known[0])
            return answer
        handles = match["a"], match["b"]
        before = [state(handle) or NEWCOMERS[package] for handle in handles]
        after = rate(before[0], before[1], float(match["score"]))
        rows = [(handle, *one) for handle, one in zip(handles, after, strict=True)]
        database.executemany("INSERT OR REPLACE INTO players VALUES (?, ?, ?, ?)", rows)
        answer = {"id": match["id"], "players": [{"player": row[0], "mu": row[1], "sigma": row[2]} for row in rows]}
        database.execute("INSERT INTO matches VALUES (?, ?)", (match["id"], json.dumps(answer)))
        return answer

    async def matches(request: Request) -> JSONResponse:
        sent = await request.json()
        database.execute("BEGIN IMMEDIATE")
        try:
            several = sent.get("matches")
            answer = accept(sent) if several is None else {"results": [accept(match) for match in several]}
        except BaseException:
            database.execute("ROLLBACK")
            raise
        database.execute("COMMIT")
        return JSONResponse(answer, 201)

    async def player(request: Request) -> JSONResponse:
        found = state(request.path_params["handle"])
        if found is None:
            return JSONResponse({"detail": "unknown player"}, 404)
        return JSONResponse({"mu": found[0], "sigma": found[1]})

    run = "/api/v1/runs/{run}"
    routes = [Route(f"{run}/matches", matches, methods=["POST"]), Route(f"{run}/players/{{handle}}", player)]
    return Starlette(routes=routes)


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(application(sys.argv[1], sys.argv[2]), port=int(sys.argv[3]), log_level="warning", access_log=False)
