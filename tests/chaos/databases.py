"""Publishes into a server, and ingestions from it, whose connection is reset at any byte, or whose server stops."""

from __future__ import annotations

import random
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from chaos.cases import Violation
from chaos.world import World
from helpers.database_servers import Server, mariadb, postgres
from helpers.database_tables import expected, is_state, stored
from helpers.databases import server_judge
from helpers.lakes import ingest, lake_of, rate_run, synthetic
from helpers.sockets import relay

from ranklake.flows.databases.address import DatabaseAddress
from ranklake.flows.databases.errors import DatabaseError
from ranklake.flows.ingestion.databases import ingest_sql
from ranklake.flows.publication.database import publish_to_database
from ranklake.storage import Dataset, Lake

KINDS = {"postgresql": postgres, "mariadb": mariadb}
QUERY = "select c.contest_id as contest, p.handle as player, r.rating as score from ratings r "
QUERY += "join contests c on c.round_index = r.round_index join players p on p.player = r.player"
MOST = 2**15  # bytes after which a connection is reset


def draw(seed: int) -> dict[str, Any]:
    """A kind of server, two numbers of contests that are published, and the bytes after which connections are reset."""
    dice = random.Random(seed)
    first = dice.randint(2, 8)
    cuts = sorted(dice.randrange(MOST) for _ in range(dice.randint(1, 4)))
    return {"kind": dice.choice(list(KINDS)), "contests": [first, first + dice.randint(1, 8)], "cuts": cuts}


def check(world: World, parameters: dict[str, Any]) -> None:
    try:
        server = world.once(parameters["kind"], lambda: _server(parameters["kind"]))
    except pytest.skip.Exception:  # the server is not installed
        return
    folder, (first, all_of_them) = world.fresh_folder(), parameters["contests"]
    contests = synthetic(all_of_them)
    lake = lake_of(folder / "lake", contests[:first])
    rate_run(lake, system="elo")
    with server_judge(server) as judge:
        publish_to_database(lake, "run", judge.url)
        old = stored(judge)
        ingest(lake, contests)
        rate_run(lake, system="elo")
        new = expected(lake)
        for cut in parameters["cuts"]:
            words = _cut(world, judge.url, cut, lambda url: publish_to_database(lake, "run", url))
            if not is_state(judge, old, new):
                raise Violation("a publish whose connection is lost leaves tables of two versions", f"{cut}: {words}")
        publish_to_database(lake, "run", judge.url)
        if not is_state(judge, new):
            raise Violation("a publish after a lost connection differs from an undisturbed one")
        _check_ingested(world, folder, judge.url, parameters["cuts"])


def _server(kind: str) -> AbstractContextManager[Server]:
    return KINDS[kind]()


def _check_ingested(world: World, folder: Path, url: str, cuts: list[int]) -> None:
    """Check that ingestions give all contests or none, and at last those of an undisturbed one."""
    lake, twin = (Lake.open(str(folder / name), create=True) for name in ("disturbed", "twin"))
    ingest_sql(twin, url, QUERY, "judge")
    for cut in cuts:
        words = _cut(world, url, cut, lambda url: ingest_sql(lake, url, QUERY, "judge"))
        if words and _contests(lake) not in ([], _contests(twin)):
            raise Violation("an ingestion whose connection is lost leaves a part of the contests", f"{cut}: {words}")
    ingest_sql(lake, url, QUERY, "judge")
    if _contests(lake) != _contests(twin):
        raise Violation("an ingestion after a lost connection differs from an undisturbed one")


def _contests(lake: Lake) -> list[dict[str, Any]]:
    if not list(Path(lake.url).glob("datasets/*")):
        return []
    rows: list[dict[str, Any]] = Dataset.open(lake, "judge").contests.to_pylist()
    return [{name: row[name] for name in ("contest_id", "content_digest")} for row in rows]


def _cut(world: World, url: str, cut: int, command: Any) -> str:
    """Run a command at a relay that resets its connections; returns the message of its error."""
    port = DatabaseAddress.parse(url).port
    world.counts["commands"] += 1
    with relay(int(port or 0), lost_after=cut) as opened:
        try:
            command(url.replace(f":{port}/", f":{opened.port}/"))
        except DatabaseError as error:
            world.counts["faults"] += 1
            if not error.reason.endswith("; the connection is lost; run again"):
                raise Violation("the error of a lost connection has no remedy", str(error)) from None
            return str(error)
    return ""
