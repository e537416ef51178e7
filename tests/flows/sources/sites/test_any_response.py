"""Hostile responses of sites: any JSON, long texts and lists without an end are contests or a readable error."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.contents import standings
from helpers.fake_codeforces import changes, team_standings
from helpers.responses import fault_of, follow, parse, parse_one
from helpers.server import FakeClock, Reply, Server
from helpers.sockets import raw_serving, response
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.flows.http.client import Client
from ranklake.flows.ingestion import fetch as fetching
from ranklake.flows.ingestion.fetch import fetch
from ranklake.flows.ingestion.response_archive import ResponseArchive
from ranklake.flows.sources.base import LONGEST_PLACE, SourceError
from ranklake.flows.sources.limits import MAX_CONTEST_ID, MAX_HANDLE, MAX_NAME
from ranklake.flows.sources.sites.documents import Document, Key, Response
from ranklake.flows.sources.sites.site import find_site
from ranklake.storage import Contest, Lake

END = "2020-01-01T00:00:00Z"
ABOUT = {"name": "n", "time_seconds": 1_500_000_000}
FACTS = {"cumulative_time": 1, "tiebreaker": 0.0, "new_rating": 1, "is_disqualified": False}
RANKINGS = [{"user": "a", "score": 2.0, **FACTS}, {"user": "b", "score": 1.0, **FACTS}]
DMOJ = {"key": "k", "name": "n", "end_time": END, "rankings": RANKINGS}
RESPONSES: dict[str, tuple[Key, Any]] = {
    "codeforces": (Key("rating-changes", "7"), {"status": "OK", "result": changes(7, ("a", 1), ("b", 2), ("c", 2))}),
    "codeforces-teams": (Key("standings", "7"), {"status": "OK", "result": team_standings(
        7, ("red", 1, ["a", "b"]), (None, 2, ["c"]), ("blue", 2, ["d", "e"]))}),
    "ctftime": (Key("results", "2020"), {"5": {"title": "t", "time": 1.5e9, "scores": [
        {"team_id": 1, "points": "1", "place": 1}, {"team_id": 2, "points": "0", "place": 2}]}}),
    "atcoder": (Key("results", "abc"), [{"IsRated": True, "Place": 1, "UserScreenName": "a"},
                                        {"IsRated": True, "Place": 2, "UserScreenName": "b"}]),
    "dmoj": (Key("contest", "k"), {"data": {"object": DMOJ}}),
    "lichess": (Key("swiss", "s"), {"rank": 1, "username": "a"}),
}  # fmt: skip
LISTS: dict[str, Any] = {
    "codeforces": {"status": "OK", "result": [
        {"id": 1, "phase": "FINISHED", "durationSeconds": 7200, "startTimeSeconds": 1_500_000_000}]},
    "codeforces-teams": {"status": "OK", "result": [
        {"id": 524, "phase": "FINISHED", "durationSeconds": 7200, "startTimeSeconds": 1_500_000_000}]},
    "atcoder": [
        {"id": "a", "start_epoch_second": 1_500_000_000, "duration_second": 600, "title": "t", "rate_change": "All"}],
    "dmoj": {"data": {"objects": [{"key": "k", "end_time": END}], "has_more": False}},
    "lichess": {"finished": [{"id": "a", "fullName": "n", "finishesAt": 1_500_000_000_000, "status": 30}]},
}  # fmt: skip

anything = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 10**30, 1e300, -0.0, 0.5, "9999-12-31T23:59:59+00:00"]),
    st.text(max_size=5),
    st.sampled_from(["", "\x00", "\x1b[2J", "\u202e", "../..", "0001-01-01T00:00:00+14:00", "x" * 10_000]),
    st.just([]),
    st.just({}),
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all parts of a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(way for key, part in inside for way in paths(part, (*path, key)))]


@st.composite
def spoilt(draw: st.DrawFn, value: Any) -> Any:
    """The value with one or two of its parts replaced or deleted."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 2))):
        way = draw(st.sampled_from(paths(value)))
        if not way:
            return draw(anything)
        inside = value
        for step in way[:-1]:
            inside = inside[step]
        if draw(st.booleans()) and isinstance(inside, dict):
            del inside[way[-1]]
        else:
            inside[way[-1]] = draw(anything)
    return value


@pytest.mark.parametrize("source", RESPONSES)
@repeatable(60)
@given(choice=st.data())
def test_parse__any_response_is_parsed_or_a_readable_error(source: str, choice: st.DataObject) -> None:
    key, good = RESPONSES[source]
    body = json.dumps(choice.draw(spoilt(good))).encode()
    document = Document(key, Response("URL", 200, body, 0), ABOUT)
    try:
        found = list(find_site(source).parse(document))
    except SourceError as error:
        found = [error]
    for one in found:
        if isinstance(one, Contest):
            assert len(one.content_digest) == 32
            assert len(set(one.handles.to_pylist())) == len(one) > 0
        else:
            assert str(one).isprintable()
            assert len(str(one)) < 1000


SOLVE = {"points": 5.0, "rejectedAttemptCount": 1, "type": "FINAL", "bestSubmissionTimeSeconds": 60}
STANDINGS = team_standings(7, ("red", 1, ["a", "b"]), (None, 2, ["c"]))
RESULTS: dict[str, tuple[Key, Any]] = {
    "codeforces": (Key("standings", "7"), {"status": "OK", "result": STANDINGS | {
        "problems": [{"contestId": 7, "index": "A", "name": "n", "points": 500.0, "tags": ["t"]}],
        "rows": [one | {"problemResults": [SOLVE]} for one in STANDINGS["rows"]]}}),
    "dmoj": (Key("contest", "k"), {"data": {"object": DMOJ | {
        "problems": [{"code": "p", "points": 5, "name": "n"}],
        "rankings": [one | {"solutions": [{"points": 5.0, "time": 1.0}]} for one in RANKINGS]}}}),
}  # fmt: skip


@pytest.mark.parametrize("source", RESULTS)
@repeatable(60)
@given(choice=st.data())
def test_results__any_response_is_parsed_or_a_readable_error(source: str, choice: st.DataObject) -> None:
    key, good = RESULTS[source]
    document = Document(key, Response("URL", 200, json.dumps(choice.draw(spoilt(good))).encode(), 0), ABOUT)
    try:
        found = list(find_site(source).results(document))
    except SourceError as error:
        found = [error]
    for one in found:
        rule = str(one) if isinstance(one, SourceError) else one.rule_broken()
        assert rule.isprintable()
        assert len(rule) < 1000
        if not rule:
            assert len({len(one.players), *map(len, (one.numbers, one.share, one.after, one.attempts))}) == 1
            np.array(one.attempts, np.int32)


@pytest.mark.parametrize("source", LISTS)
@repeatable(60)
@given(choice=st.data())
def test_list_documents__any_list_is_parsed_or_a_readable_error(source: str, choice: st.DataObject) -> None:
    def fetch_list(key: Key, path: str, read: Any) -> Any:
        return read(Document(key, Response("URL", 200, json.dumps(choice.draw(spoilt(LISTS[source]))).encode(), 0)))

    try:
        fetcher: Any = SimpleNamespace(fetch_list=fetch_list)
        requests = list(find_site(source).list_documents(fetcher, None, 1_800_000_000))
    except SourceError as error:
        texts, requests = [str(error)], []
    else:
        texts = [request.key.shown for request in requests]
    assert all(text.isprintable() for text in texts)
    for request in requests:
        assert request.path.isascii()
        assert request.path.isprintable()
        json.dumps(request.about)


@pytest.mark.parametrize(
    ("source", "body"),
    [
        ("codeforces", b'{"status": 1, "result": ['),
        ("ctftime", b'{"5": 1, "6": {'),
        ("atcoder", b'[{"IsRated": 1}, {'),
        ("dmoj", b'{"data": 1, "error'),
        ("lichess", b'{"rank": "first", "username"'),
    ],
)
def test_parse__json_truncated_after_an_invalid_value_is_an_error(source: str, body: bytes) -> None:
    document = Document(RESPONSES[source][0], Response("URL", 200, body, 0), ABOUT)
    with pytest.raises(SourceError, match="not JSON: "):
        list(find_site(source).parse(document))


# --- long texts ----------------------------------------------------------------------------------------------------

LONG = "x" * 5_000
DIGITS = "7" * 1_500
DAY = 1_500_000_000
ROWS = [{"IsRated": True, "Place": place, "UserScreenName": user} for place, user in ((1, "a"), (2, "b"))]
SHORTENED = f"... (shortened, {len(LONG):,} characters in all) ..."


def atcoder(long: str) -> dict[str, Any]:
    listed = {"start_epoch_second": DAY, "duration_second": 600, "title": "t", "rate_change": "All"}
    names = (long, "good")
    return {
        "/atcoder/resources/contests.json": [listed | {"id": name} for name in names],
        **{f"/contests/{name}/results/json": ROWS for name in names},
    }


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
    [(atcoder, LONG, "good"), (ctftime, LONG, "good"), (codeforces, DIGITS, "8"), (topcoder, DIGITS, "8-1")],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_ingest__contest_whose_id_is_too_long_is_left_out_and_named(
    lake: Lake, server: Server, site: Any, long: str, good: str
) -> None:
    for path, body in site(long).items():
        server[path] = body
    source = site.__name__
    report = follow(lake, server, source)
    assert standings(lake, source) == {good: [("a", 0, 0), ("b", 1, 1)]}
    ((_, reason),) = report.rejected
    assert reason.startswith(f"{source}, contest {long[:20]}")
    assert f"has {len(long):,} characters, at most {MAX_CONTEST_ID:,} are allowed" in reason
    assert len(reason) < 1_000
    assert max(map(len, server.paths)) < 200  # no request for it


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
    error = fault_of("atcoder", "results", "abc", rows, {"name": name, "time_seconds": 1})
    assert error.startswith("atcoder, contest abc (URL)")
    assert rule in error


def test_parse__texts_of_the_maximum_length_are_accepted() -> None:
    rows = [dict(one, UserScreenName=one["UserScreenName"] * MAX_HANDLE) for one in ROWS]
    about = {"name": "n" * MAX_NAME, "time_seconds": 1}
    parse_one("atcoder", "results", "i" * MAX_CONTEST_ID, rows, about)


ROUND = topcoder("7")["/dd_round_results_rd=7.xml"]


@pytest.mark.parametrize(
    ("source", "kind", "body", "where"),
    [
        ("ctftime", "teams", {"result": [{"id": 1, "name": LONG}]}, "result[0].name"),
        ("ctftime", "team", {"id": 1, "name": LONG}, "name"),
        ("topcoder", "round", ROUND.replace(b"<handle>a", b"<handle>" + LONG.encode()), "[0].handle"),
    ],
)
def test_parse__response_with_a_too_long_name_of_a_player_is_an_error(
    source: str, kind: str, body: Any, where: str
) -> None:
    with pytest.raises(SourceError) as error:
        parse(source, kind, "1", body)
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


# --- lists without an end ------------------------------------------------------------------------------------------


def page_of(head: bytes) -> int:
    return int(head.split(b"page=")[1].split(b" ")[0])


@pytest.mark.parametrize("same", [True, False], ids=["the-same-again", "always-others"])
def test_dmoj__a_list_without_an_end_is_an_error(lake: Lake, monkeypatch: pytest.MonkeyPatch, same: bool) -> None:
    monkeypatch.setattr("ranklake.flows.sources.sites.dmoj.MAX_PAGES", 20)

    def talk(head: bytes) -> Iterator[bytes]:
        key = "one" if same else f"c{page_of(head)}"
        listed = {"objects": [{"key": key, "end_time": END}], "has_more": True}
        yield response(json.dumps({"data": listed}).encode())

    with (
        raw_serving(talk) as server,
        Client("dmoj", server.url, interval_seconds=0.0, clock=FakeClock()) as client,
        pytest.raises(SourceError, match="nothing new on page 2" if same else "more than 20 pages") as error,
    ):
        fetch(ResponseArchive(lake, "dmoj"), find_site("dmoj", server.url), client)
    assert f"{server.url}api/v2/contests?is_rated=True&page=" in str(error.value)
    assert len(server.heads) == (2 if same else 20)


@pytest.mark.parametrize("same", [True, False], ids=["the-same-again", "always-others"])
def test_ctftime__names_without_an_end_are_an_error(lake: Lake, monkeypatch: pytest.MonkeyPatch, same: bool) -> None:
    monkeypatch.setattr(fetching, "MAX_FOLLOW_UPS", 20)

    def talk(head: bytes) -> Iterator[bytes]:
        if b"/results/" in head:
            yield response(b"{}")
        else:
            first = 0 if same else int(head.split(b"offset=")[1].split(b" ")[0])
            yield response(json.dumps({"result": [{"id": first + n, "name": "x"} for n in range(300)]}).encode())

    with (
        raw_serving(talk) as server,
        Client("ctftime", server.url, interval_seconds=0.0, clock=FakeClock()) as client,
        pytest.raises(SourceError, match="more than 20 documents beyond its list"),
    ):
        fetch(ResponseArchive(lake, "ctftime"), find_site("ctftime", server.url), client)
    assert sum(b"/teams/" in head for head in server.heads) == 20
