"""AtCoder, DMOJ and lichess."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.contents import counts, standings
from helpers.data import sample
from helpers.responses import fault_of, follow, parse, parse_one
from helpers.server import Reply, Server

from ranklake.flows.http.redaction import Secret
from ranklake.flows.ingestion.sites import ingest_source
from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.sites.documents import Key
from ranklake.flows.sources.sites.lichess import Lichess
from ranklake.flows.sources.sites.site import find_site
from ranklake.storage import Dataset, Lake

NOW = 1_800_000_000
END = "2017-07-14T02:40:00+00:00"


# AtCoder


def atcoder_row(user: str, place: int, rated: bool = True) -> dict[str, Any]:
    return {"IsRated": rated, "Place": place, "OldRating": 0, "NewRating": 0, "Performance": 0, "UserScreenName": user,
            "UserName": user, "Country": "JP", "Affiliation": "", "Competitions": 1, "AtCoderRank": 1}  # fmt: skip


def listed(name: str, begins: int, rate_change: str = " ~ 1999") -> dict[str, Any]:
    facts = {"start_epoch_second": begins, "duration_second": 6000, "rate_change": rate_change}
    return {"id": name, "title": name.upper(), **facts}


def test_atcoder__rated_contests_that_are_over(lake: Lake, server: Server) -> None:
    server["/atcoder/resources/contests.json"] = [
        listed("abc2", 1_600_000_000), listed("abc1", 1_500_000_000), listed("training", 1_500_000_000, "-"),
        listed("ahc001", 1_500_000_000, "All"), listed("abc9", NOW - 10),
    ]  # fmt: skip
    server["/contests/abc1/results/json"] = [
        atcoder_row("a", 1), atcoder_row("guest", 2, rated=False), atcoder_row("b", 3), atcoder_row("c", 3)
    ]  # fmt: skip
    server["/contests/abc2/results/json"] = []
    report = follow(lake, server, "atcoder")
    assert server.paths[1:] == ["/contests/abc1/results/json", "/contests/abc2/results/json"]
    assert counts(report) == {"new": 1, "requests": 3}
    assert standings(lake, "atcoder") == {"abc1": [("a", 0, 0), ("b", 1, 2), ("c", 1, 2)]}
    row = Dataset.open(lake, "atcoder").contests.to_pylist()[0]
    assert (row["name"], row["time_seconds"]) == ("ABC1", 1_500_006_000)
    assert row["url"] == "https://atcoder.jp/contests/abc1/standings"


def test_atcoder__a_new_time_in_the_list_corrects_the_contest(lake: Lake, server: Server) -> None:
    server["/atcoder/resources/contests.json"] = [listed("abc1", 1_500_000_000)]
    server["/contests/abc1/results/json"] = [atcoder_row("a", 1), atcoder_row("b", 2)]
    follow(lake, server, "atcoder")
    server["/atcoder/resources/contests.json"] = [listed("abc1", 1_500_000_600)]
    assert counts(follow(lake, server, "atcoder")) == {"corrected": 1, "requests": 2}


def test_atcoder__the_list_of_another_site_is_requested_without_the_token() -> None:
    requested = []

    def fetch_list(key: Key, path: str, read: Any) -> list[Any]:
        requested.append(path)
        return []

    fetcher: Any = SimpleNamespace(fetch_list=fetch_list)
    list(find_site("atcoder").list_documents(fetcher, None, NOW))
    assert requested == ["https://kenkoooo.com/atcoder/resources/contests.json"]


def test_atcoder__places_count_from_1() -> None:
    error = fault_of("atcoder", "results", "abc1", [atcoder_row("a", 0)], {"name": "n", "time_seconds": 1})
    assert error == "atcoder, contest abc1 (URL), row 0: Place = 0; places count from 1"


def test_atcoder__a_list_that_did_not_change_is_not_sent_again(lake: Lake, server: Server) -> None:
    path = "/atcoder/resources/contests.json"

    def tell(*names: str, tag: str) -> None:
        body = json.dumps([listed(name, 1_500_000_000) for name in names]).encode()
        server[path] = Reply(body, headers={"ETag": tag})

    for name in ("abc1", "abc2"):
        server[f"/contests/{name}/results/json"] = [atcoder_row("a", 1), atcoder_row("b", 2)]
    known = []
    for names, tag in ((["abc1"], '"1"'), (["abc1"], '"1"'), (["abc1", "training"], '"2"'), (["abc1"], '"3"')):
        tell(*names, tag=tag)
        server["/contests/training/results/json"] = []
        follow(lake, server, "atcoder")
        known.append(server.requests[0].headers.get("If-None-Match"))
    assert known == [None, '"1"', '"1"', '"2"']
    tell("abc1", tag='"4"')
    follow(lake, server, "atcoder")  # nothing but the list is new
    follow(lake, server, "atcoder")
    assert server.requests[0].headers["If-None-Match"] == '"4"'


# DMOJ


def dmoj_row(user: str, score: float, time: float = 0, rating: int | None = 1500, **more: Any) -> dict[str, Any]:
    return {"user": user, "score": score, "cumulative_time": time, "tiebreaker": 0.0, "old_rating": None,
            "new_rating": rating, "is_disqualified": False, **more}  # fmt: skip


def dmoj_contest(key: str, *rows: dict[str, Any]) -> dict[str, Any]:
    facts = {"key": key, "name": f"Contest {key}", "end_time": END, "is_rated": True}
    return {"api_version": "2.0", "method": "get", "fetched": "now", "data": {"object": facts | {"rankings": [*rows]}}}


def dmoj_page(page: int, more: bool, *keys: str) -> tuple[str, dict[str, Any]]:
    objects = [{"key": key, "name": key, "end_time": END, "is_rated": True} for key in keys]
    found = {"objects": objects, "has_more": more, "page_index": page}
    return f"/api/v2/contests?is_rated=True&page={page}", {"data": found}


def test_dmoj__pages_contests_and_the_site_s_order(lake: Lake, server: Server) -> None:
    for path, response in (dmoj_page(1, True, "one", "private"), dmoj_page(2, False, "two/../x")):
        server[path] = response
    server["/api/v2/contest/one"] = dmoj_contest(
        "one", dmoj_row("cheat", 99, is_disqualified=True), dmoj_row("slow", 10, 9), dmoj_row("fast", 10, 5),
        dmoj_row("also fast", 10, 5), dmoj_row("guest", 50, rating=None), dmoj_row("late", 10, 5, tiebreaker=1.0),
        dmoj_row("unrated cheat", 70, rating=None, is_disqualified=True),
    )  # fmt: skip
    server["/api/v2/contest/two%2F..%2Fx"] = dmoj_contest("two/../x", dmoj_row("a", 1, rating=None))
    server["/api/v2/contest/private"] = Reply(b'{"api_version": "2.0", "error": {"code": 403, "message": "no"}}', 403)
    report = follow(lake, server, "dmoj")
    assert counts(report) == {"new": 1, "requests": 5}
    assert report.rejected == []
    assert report.line().startswith("1 new contest, 1 absent (HTTP 403 or 404); 5 requests, in ")
    assert standings(lake, "dmoj") == {
        "one": [
            ("guest", 0, 0), ("fast", 1, 2), ("also fast", 1, 2), ("late", 3, 3), ("slow", 4, 4), ("cheat", 5, 5),
        ]
    }  # fmt: skip
    (part,) = Dataset.open(lake, "dmoj").standings()
    assert part.rated is not None
    assert part.rated.tolist() == [False, True, True, True, True, True]
    assert Dataset.open(lake, "dmoj").contests.column("time_seconds").to_pylist() == [1_500_000_000]


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ({"data": None}, "HTTP 200: neither data nor error"),
        ({"error": {"message": "slow down"}}, "HTTP 200: 'slow down'"),
        (
            dmoj_contest("one", {"user": "a"}),
            r"missing required field score at data.object.rankings\[0\], got \{'user': 'a'\}",
        ),
    ],
)
def test_dmoj__a_broken_response_is_an_error(response: Any, message: str) -> None:
    with pytest.raises(SourceError, match=rf"dmoj, URL: .*{message}"):
        parse("dmoj", "contest", "one", response)


def test_dmoj__the_response_for_another_contest_is_a_fault() -> None:
    error = fault_of("dmoj", "contest", "two", dmoj_contest("one", dmoj_row("a", 1)))
    assert error == "dmoj, contest two (URL): key = 'one' in the response for 'two'"


# lichess


@pytest.mark.parametrize(("kind", "first"), [("tournament", "GGbers"), ("swiss", "MorphyTal2018")])
def test_lichess__recorded_results(kind: str, first: str) -> None:
    body = sample(f"lichess/{kind}.ndjson").read_bytes()
    contest = parse_one("lichess", kind, "ID", body, {"name": "n", "time_seconds": 1_500_000_000})
    assert (contest.handles[0].as_py(), contest.lo.tolist()) == (first, [0, 1, 2])
    assert contest.url == f"https://lichess.org/{kind}/ID"


RESULTS = b'{"rank":1,"score":9,"username":"ada"}\n{"rank":2,"score":8,"username":"bob"}\n'


def arena(name: str, status: int = 30) -> dict[str, Any]:
    return {"id": name, "fullName": f"{name} Arena", "finishesAt": 1_700_000_000_000, "status": status, "minutes": 60}


def test_lichess__recently_ended_arenas_are_ingested(lake: Lake, server: Server) -> None:
    server["/api/tournament"] = {"created": [], "started": [arena("now", 20)], "finished": [arena("Past1")]}
    server["/api/tournament/Past1/results"] = RESULTS
    report = follow(lake, server, "lichess")
    assert counts(report) == {"new": 1, "requests": 2}
    assert standings(lake, "lichess") == {"Past1": [("ada", 0, 0), ("bob", 1, 1)]}
    row = Dataset.open(lake, "lichess").contests.to_pylist()[0]
    assert (row["name"], row["time_seconds"]) == ("Past1 Arena", 1_700_000_000)
    server["/api/tournament"] = {"created": [], "started": [], "finished": []}
    # contests that are no longer listed stay
    assert counts(follow(lake, server, "lichess")) == {"unchanged": 1, "requests": 1}


def test_lichess__tournaments_by_name_are_requested_once(lake: Lake, server: Server) -> None:
    ended = {"startsAt": "2023-11-01T00:00:00Z", "minutes": 60, "isFinished": True}
    server["/api/tournament/A1"] = {"id": "A1", "fullName": "A", **ended}
    server["/api/tournament/A1/results"] = RESULTS
    server["/api/swiss/S1"] = {"id": "S1", "name": "S", "startsAt": "2023-11-01T02:00:00Z", "status": "finished"}
    server["/api/swiss/S1/results"] = RESULTS
    assert follow(lake, server, "lichess", arenas=["A1"], swisses=["S1"]).new == 2
    assert list(standings(lake, "lichess")) == ["A1", "S1"]
    assert follow(lake, server, "lichess", arenas=["A1"], swisses=["S1"]).requests == 0


def test_lichess__tournaments_of_a_team(lake: Lake, server: Server) -> None:
    lines = [arena("T1"), arena("T2", 20)]
    server["/api/team/my%20team/arena"] = "\n".join(map(json.dumps, lines)).encode()
    begun = {"startsAt": "2023-11-01T02:00:00Z", "status": "started"}
    server["/api/team/my%20team/swiss"] = {"id": "S1", "name": "S", **begun}
    server["/api/tournament/T1/results"] = RESULTS
    assert follow(lake, server, "lichess", teams=["my team"]).new == 1


@pytest.mark.parametrize("ranks", [(2,), (1, 3), (1, 2, 1)])
def test_lichess__invalid_ranks_are_a_fault(ranks: tuple[int, ...]) -> None:
    body = "\n".join(json.dumps({"rank": rank, "username": f"p{i}"}) for i, rank in enumerate(ranks)).encode()
    error = fault_of("lichess", "swiss", "ID", body, {"name": "n", "time_seconds": 1})
    assert f"rank = {ranks[-1]} at position {len(ranks)}" in error


def test_lichess__the_token_is_in_no_file_of_the_lake(
    lake: Lake, server: Server, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow as pa

    token = "lip_verySecret"
    monkeypatch.setenv("RANKLAKE_LICHESS_TOKEN", token)
    server["/api/tournament"] = {"created": [], "started": [], "finished": [arena("p1"), arena("p2")]}
    echoing = {"ETag": f'"{token}"', "Last-Modified": "".join(f"%{ord(c):02x}" for c in token), "X-Echo": token}
    server["/api/tournament/p1/results"] = Reply(RESULTS, headers=echoing)
    server["/api/tournament/p2/results"] = Reply(f'{{"you sent": "{token}"}}'.encode(), headers={"ETag": '"1"'})
    monkeypatch.setattr(Lichess, "interval_seconds", 0.0)
    with pytest.raises(SourceError, match="repeats our access token"):
        ingest_source(lake, "lichess", base_url=server.url)
    assert server.requests[0].headers["Authorization"] == f"Bearer {token}"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name.startswith("p1.") for path in files)
    for path in files:
        body = path.read_bytes()
        if path.suffix == ".zst":
            body = pa.CompressedInputStream(pa.BufferReader(body), "zstd").read()
        assert not Secret(token).is_in(body)
    assert token not in "".join(capsys.readouterr())
