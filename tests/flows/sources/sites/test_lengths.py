"""Long texts from a site: contests with a too long text are left out and reported, and messages shorten the text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers.contents import standings
from helpers.server import Reply, Server

from ranklake.flows.http.client import Client
from ranklake.flows.ingestion.report import SourceReport
from ranklake.flows.ingestion.sites import ingest_source
from ranklake.flows.sources.base import LONGEST_PLACE, SourceError
from ranklake.flows.sources.limits import MAX_CONTEST_ID, MAX_HANDLE, MAX_NAME
from ranklake.flows.sources.sites.documents import Document, Key, Response
from ranklake.flows.sources.sites.site import find_site
from ranklake.storage import Contest, Lake

LONG = "x" * 5_000
DIGITS = "7" * 1_500
DAY = 1_500_000_000
LINES = b'{"rank":1,"username":"a"}\n{"rank":2,"username":"b"}\n'
ROWS = [{"IsRated": True, "Place": place, "UserScreenName": user} for place, user in ((1, "a"), (2, "b"))]
FACTS = {"cumulative_time": 1, "tiebreaker": 0.0, "new_rating": 1, "is_disqualified": False}
END = "2020-01-01T00:00:00Z"
SHORTENED = f"... (shortened, {len(LONG):,} characters in all) ..."


def follow(lake: Lake, server: Server, source: str) -> SourceReport:
    client = Client(source, server.url, interval_seconds=0.0, clock=server.clock)
    return ingest_source(lake, source, base_url=server.url, client=client)


def atcoder(long: str) -> dict[str, Any]:
    listed = {"start_epoch_second": DAY, "duration_second": 600, "title": "t", "rate_change": "All"}
    names = (long, "good")
    return {
        "/atcoder/resources/contests.json": [listed | {"id": name} for name in names],
        **{f"/contests/{name}/results/json": ROWS for name in names},
    }


def dmoj(long: str) -> dict[str, Any]:
    rows = [{"user": user, **FACTS, "score": score} for user, score in (("a", 2.0), ("b", 1.0))]
    names = (long, "good")
    one = {name: {"key": name, "name": "n", "end_time": END, "rankings": rows} for name in names}
    return {
        "/api/v2/contests?is_rated=True&page=1": {
            "data": {"objects": [{"key": name, "end_time": END} for name in names], "has_more": False}
        },
        **{f"/api/v2/contest/{name}": {"data": {"object": one[name]}} for name in names},
    }


def lichess(long: str) -> dict[str, Any]:
    names = (long, "good")
    arenas = [{"id": name, "fullName": "n", "finishesAt": DAY * 1000, "status": 30} for name in names]
    return {"/api/tournament": {"finished": arenas}, **{f"/api/tournament/{name}/results": LINES for name in names}}


def ctftime(long: str) -> dict[str, Any]:
    scores = [{"team_id": team, "place": team} for team in (1, 2)]
    event = {"title": "t", "time": DAY, "scores": scores}
    teams = [{"id": team, "name": name} for team, name in ((1, "a"), (2, "b"))]
    years = {f"/api/v1/results/{year}/": {} for year in range(2011, 2028)}
    return {
        **years,
        "/api/v1/results/2017/": {long: event, "good": event},
        "/api/v1/teams/?limit=300&offset=0": {"result": teams},
    }


def codeforces(long: str) -> dict[str, Any]:
    listed = {"phase": "FINISHED", "durationSeconds": 7200, "startTimeSeconds": DAY}
    facts = {"contestName": "n", "ratingUpdateTimeSeconds": DAY}
    path = "/api/contest.ratingChanges?contestId="
    found = {
        number: [
            facts | {"contestId": int(number), "handle": user, "rank": rank} for rank, user in ((1, "a"), (2, "b"))
        ]
        for number in (long, "8")
    }
    return {
        "/api/contest.list": {"status": "OK", "result": [listed | {"id": int(number)} for number in found]},
        **{path + number: {"status": "OK", "result": rows} for number, rows in found.items()},
    }


def topcoder(long: str) -> dict[str, Any]:
    facts = "<full_name>n</full_name><date>2001-04-21 14:00</date>"
    listed = "".join(f"<row><round_id>{number}</round_id>{facts}</row>" for number in (long, "8"))
    result = "<division>1</division><rated_flag>1</rated_flag>"
    rows = "".join(
        f"<row><coder_id>{coder}</coder_id><handle>{name}</handle><final_points>{-coder}</final_points>{result}</row>"
        for coder, name in ((1, "a"), (2, "b"))
    )
    return {
        "/dd_round_list.xml": f"<l>{listed}</l>".encode(),
        **{f"/dd_round_results_rd={number}.xml": f"<r>{rows}</r>".encode() for number in (long, "8")},
    }


@pytest.mark.parametrize(
    ("site", "long", "good"),
    [(atcoder, LONG, "good"), (dmoj, LONG, "good"), (lichess, LONG, "good"), (ctftime, LONG, "good"),
     (codeforces, DIGITS, "8"), (topcoder, DIGITS, "8-1")],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_ingest__contest_whose_id_is_too_long_is_left_out_and_named(
    lake: Lake, server: Server, site: Any, long: str, good: str
) -> None:
    for path, response in site(long).items():
        server[path] = response
    source = site.__name__
    report = follow(lake, server, source)
    assert standings(lake, source) == {good: [("a", 0, 0), ("b", 1, 1)]}
    ((_, reason),) = report.rejected
    assert reason.startswith(f"{source}, contest {long[:20]}")
    assert f"has {len(long):,} characters, at most {MAX_CONTEST_ID:,} are allowed" in reason
    assert len(reason) < 1_000
    assert max(map(len, server.paths)) < 200  # no request for it


def parse(source: str, key: Key, body: Any, about: Any = None) -> list[Contest | SourceError]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return list(find_site(source).parse(Document(key, Response("URL", 200, raw, 0), about or {})))


@pytest.mark.parametrize(
    ("row", "name", "rule"),
    [
        (1, "n", f"row 1: the player '{LONG[:40]}'... has 5,000 characters, at most {MAX_HANDLE:,} are allowed"),
        (0, "n", f"row 0: the player '{LONG[:40]}'... has 5,000 characters, at most {MAX_HANDLE:,} are allowed"),
        (None, LONG, f"the name of a contest has 5,000 characters, at most {MAX_NAME:,} are allowed"),
    ],
)
def test_parse__contest_with_a_handle_or_a_name_that_is_too_long_is_a_fault(
    row: int | None, name: str, rule: str
) -> None:
    rows = [dict(one, Place=3 - one["Place"]) for one in ROWS]  # the best is the last
    if row is not None:
        rows[row]["UserScreenName"] = LONG
    (error,) = parse("atcoder", Key("results", "abc"), rows, {"name": name, "time_seconds": 1})
    assert isinstance(error, SourceError)
    assert str(error).startswith("atcoder, contest abc (URL)")
    assert rule in str(error)


def test_parse__texts_of_the_maximum_length_are_accepted() -> None:
    rows = [dict(one, UserScreenName=one["UserScreenName"] * MAX_HANDLE) for one in ROWS]
    about = {"name": "n" * MAX_NAME, "time_seconds": 1}
    (contest,) = parse("atcoder", Key("results", "i" * MAX_CONTEST_ID), rows, about)
    assert isinstance(contest, Contest)


ROUND = topcoder("7")["/dd_round_results_rd=7.xml"]


@pytest.mark.parametrize(
    ("source", "key", "body", "where"),
    [
        ("ctftime", Key("teams", "0"), {"result": [{"id": 1, "name": LONG}]}, "result[0].name"),
        ("ctftime", Key("team", "1"), {"id": 1, "name": LONG}, "name"),
        ("topcoder", Key("round", "1"), ROUND.replace(b"<handle>a", b"<handle>" + LONG.encode()), "[0].handle"),
    ],
)
def test_parse__response_with_a_too_long_name_of_a_player_is_an_error(
    source: str, key: Key, body: Any, where: str
) -> None:
    with pytest.raises(SourceError) as error:
        parse(source, key, body)
    assert f"Expected str of length <= {MAX_HANDLE} at {where}, got 'xxx" in str(error.value)


def test_message__of_a_long_address_and_a_long_id_is_shortened_in_the_middle(server: Server) -> None:
    with server.client() as client, pytest.raises(SourceError) as error:
        client.get(f"contests/{LONG}/results")
    message = str(error.value)
    assert message.startswith(f"site, {server.url}contests/xxx")
    assert message.endswith("xxx/results: HTTP 404 'not found'")
    assert len(message) < LONGEST_PLACE + 100
    message = str(SourceError("wrong", "site", LONG, f"http://site/{LONG}.json"))
    assert f"contest xxx{'x' * 50}" in message
    assert message.endswith("xxx.json): wrong")
    assert SHORTENED in message
    assert len(message) < 2 * LONGEST_PLACE + 100


def test_message__of_a_long_response_is_short(server: Server) -> None:
    server[f"/{LONG}"] = Reply(b"", 503)
    messages: list[str] = []
    with server.client(on_retry=messages.append) as client, pytest.raises(SourceError) as error:
        client.get(LONG)
    assert max(map(len, (str(error.value), *messages))) < 1_000
