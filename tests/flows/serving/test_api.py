"""The HTTP API: every endpoint, its validators, its errors, its limits."""

from __future__ import annotations

import asyncio
import gzip
import io
import time
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pytest
from helpers.documents import ROOT
from helpers.lakes import same_tables
from pyarrow import csv

pytest.importorskip("starlette")
from helpers.answers import leaderboard
from helpers.api import TestClient
from helpers.names import STRANGE

from ranklake.flows.answers.run import open_published
from ranklake.flows.answers.run_prediction import predict_run
from ranklake.flows.common.finite import finite_rows
from ranklake.flows.http.server.parameters import Parameter
from ranklake.flows.http.server.problems import Problem
from ranklake.flows.http.server.streams import MOST_LISTENERS, Listeners
from ranklake.flows.preview.run_preview import RunPreview
from ranklake.flows.preview.standings import Standings
from ranklake.flows.publication.publish import publish
from ranklake.flows.results.groups import group_level
from ranklake.flows.serving import previews
from ranklake.flows.serving.app import create_app
from ranklake.flows.serving.endpoints import ENDPOINTS
from ranklake.flows.serving.messages.data_files import MOST_RANGES
from ranklake.flows.serving.state.served_runs import ServedRuns
from ranklake.flows.serving.state.versions import version_events
from ranklake.storage import Lake

API = "/api/v1/runs"
RUN = f"{API}/run"


def get(client: TestClient, path: str, **query: Any) -> Any:
    response = client.get(path, params=query)
    assert response.status_code == 200, response.text
    return response.json()


def problem(client: TestClient, path: str, status: int, **query: Any) -> Any:
    response = client.get(path, params=query)
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    document = response.json()
    assert document["status"] == status
    return document


# Answers


def test_runs__lists_published_runs_only(client: TestClient) -> None:
    (run,) = get(client, API)["runs"]
    assert (run["run"], run["system"], run["n_rounds"]) == ("run", "elo-mmr", 31)
    assert get(client, RUN)["params"] == run["params"]


def test_leaderboard__formats_have_the_same_rows(client: TestClient, lake: Lake) -> None:
    board = leaderboard(lake, "run")
    document = get(client, f"{RUN}/leaderboard", limit=1000)
    assert document["rows"] == board.to_pylist()
    assert (document["run"], document["total"], document["next"]) == ("run", board.num_rows, None)
    response = client.get(f"{RUN}/leaderboard", params={"format": "arrow", "limit": 1000})
    assert same_tables(pa.ipc.open_stream(response.content).read_all(), board)
    lines = client.get(f"{RUN}/leaderboard", params={"format": "ndjson", "limit": 1000}).text.splitlines()
    assert len(lines) == board.num_rows
    response = client.get(f"{RUN}/leaderboard", params={"format": "csv", "limit": 1000})
    table = csv.read_csv(io.BytesIO(response.content))
    assert table.column("rating").to_pylist() == board.column("rating").to_pylist()
    assert "'=1+1" in table.column("handle").to_pylist()  # a spreadsheet reads no formula


@pytest.mark.parametrize("handle", ["player 1", *STRANGE], ids=range(1 + len(STRANGE)))
def test_player__every_handle_has_an_address(client: TestClient, handle: str) -> None:
    path = f"{RUN}/players/{quote(handle, safe='')}"
    assert get(client, path)["handle"] == handle
    rows = get(client, f"{path}/history")["rows"]
    assert rows[-1]["contest_id"] == "last/1"


def test_players__by_get_and_by_post(client: TestClient) -> None:
    document = get(client, f"{RUN}/players", handles="player 2,old one,nobody")
    assert [player["handle"] for player in document["players"]] == ["player 2", "player 1"]
    assert [one["requested"] for one in document["missing"]] == ["nobody"]
    posted = client.post(f"{RUN}/players", json={"handles": ["player 2", "old one", "nobody"]})
    assert posted.json() == document


def test_other_answers(client: TestClient, lake: Lake) -> None:
    n_players = open_published(lake, "run").leaderboard_table.num_rows
    assert get(client, f"{RUN}/count")["count"] == n_players
    distribution = get(client, f"{RUN}/distribution", width=100, handle="player 1")
    assert sum(one["count"] for one in distribution["bins"]) == n_players
    assert distribution["player"]["handle"] == "player 1"
    assert [row["handle"] for row in get(client, f"{RUN}/search", q="zoe")["rows"]] == ["Zoë"]
    assert get(client, f"{RUN}/contests", q="LAST")["rows"][0]["contest_id"] == "last/1"
    assert get(client, f"{RUN}/contests/last%2F1")["rows"][-1]["handle"] == "player 1"
    assert get(client, f"{RUN}/compare", handles="player 1,player 2")["pairs"][0]["against"] == "player 2"
    assert get(client, "/healthz") == {"status": "ok", "runs": 1}
    page = get(client, f"{RUN}/leaderboard", limit=7, start=7)
    assert ([row["place"] for row in page["rows"]], page["next"]) == ([*range(8, 15)], 14)
    board = get(client, f"{RUN}/leaderboard", limit=1000)["rows"]
    last = max(row["last_time_seconds"] for row in board)
    active = get(client, f"{RUN}/leaderboard", active="90d", limit=1000)["rows"]
    assert active == [row for row in board if row["last_time_seconds"] >= last - 90 * 86_400] != board
    team = get(client, f"{RUN}/teamrate", handles="player 1,player 2,old one")
    assert [player["handle"] for player in team["players"]] == ["player 1", "player 2"]
    assert team["rating"] == group_level([player["rating"] for player in team["players"]])


@pytest.mark.parametrize("path", ["leaderboard", "groups", "contests", "contests/last%2F1"])
def test_list__ends_where_its_rows_end(client: TestClient, path: str) -> None:
    first = get(client, f"{RUN}/{path}", limit=2)
    total = first["total"]
    document = problem(client, f"{RUN}/{path}", 404, limit=2, start=max(total, 1))
    last = max(total - 1, 0) // 2 * 2
    assert (document["parameter"], document["total"], document["last"]) == ("start", total, last)
    page = get(client, f"{RUN}/{path}", limit=2, start=last)
    assert page["next"] is None
    assert bool(page["rows"]) == bool(total)
    assert total == 0 or f"the last page begins at {last}" in document["detail"]


def test_list__without_rows_has_a_first_page(client: TestClient) -> None:
    nothing = get(client, f"{RUN}/contests", q="no such contest")
    assert (nothing["total"], nothing["rows"], nothing["next"]) == (0, [], None)


def test_leaderboard__at_a_time_takes_dates(client: TestClient) -> None:
    times = [row["time_seconds"] for row in get(client, f"{RUN}/contests")["rows"]]
    n_players = get(client, f"{RUN}/leaderboard")["total"]
    assert 0 < get(client, f"{RUN}/leaderboard", at="1970-03-01")["total"] <= n_players
    totals = [get(client, f"{RUN}/leaderboard", at=at)["total"] for at in ("1000-01-01", "2999-01-01")]
    assert totals == [0, n_players]
    year = time.gmtime(max(times)).tm_year
    counts = [get(client, f"{RUN}/distribution", year=one)["n_players"] for one in (1900, year - 1, year)]
    assert counts == [0, *(get(client, f"{RUN}/leaderboard", at=f"{one}-01-01")["total"] for one in (year, year + 1))]


def test_compare__has_the_chance_of_the_system(client: TestClient, lake: Lake) -> None:
    handles = ["player 3", "Zoë", "player 1"]
    prediction, _ = predict_run(lake, "run", handles)
    pairs = get(client, f"{RUN}/compare", handles=",".join(handles))["pairs"]
    assert [(pair["handle"], pair["against"]) for pair in pairs] == list(combinations(handles, 2))
    for pair in pairs:
        assert pair["chance"] == pytest.approx(prediction.chance(pair["handle"], pair["against"]), abs=1e-12)
    assert get(client, f"{RUN}/compare", handles="player 1")["pairs"] == []


# Previews


def test_preview__is_that_of_the_function(client: TestClient, lake: Lake) -> None:
    standings = [["player 3", 2], ["=1+1", 1], ["newcomer", 2]]
    response = client.post(f"{RUN}/preview", json={"standings": standings, "entrants": ["player 1"]})
    assert response.status_code == 200, response.text
    lo, hi = np.array([0, 1, 1], np.int32), np.array([0, 2, 2], np.int32)
    expected = Standings.of(["=1+1", "player 3", "newcomer"], lo, hi, entrants=["player 1"])
    table = RunPreview.open(lake, "run").preview(expected).table()
    assert response.json()["rows"] == finite_rows(table).to_pylist()


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b'{"standings": []}', b'{"standings": [["a", 0]]}', b'{"standings": [["a", 1], ["a", 2]]}',
     b'{"standings": [["a", 1], ["b", 2]], "weight": -1}', b'{"standings": [["a", 1], ["b", 2]], "x": 1}',
     b'{"standings": [["player 1", 1], ["old one", 2]]}', b"[" * 10_000, b"\xff"],
)  # fmt: skip
def test_preview__refuses_a_wrong_contest(client: TestClient, body: bytes) -> None:
    response = client.post(f"{RUN}/preview", content=body)
    assert (response.status_code, response.headers["content-type"]) == (400, "application/problem+json"), response.text
    if b'["a", 0]' in body:
        rule = "got 0 of 'a'; leave out participants without a place, or list them as entrants"
        assert response.json()["detail"].endswith(rule)


def test_preview__has_limits(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.post(f"{RUN}/preview", content=b" " * (9 << 20)).status_code == 413
    monkeypatch.setattr(previews, "MOST_PREVIEWED", 2)
    body = {"standings": [["a", 1], ["b", 2], ["c", 3]]}
    assert client.post(f"{RUN}/preview", json=body).status_code == 413
    monkeypatch.setattr(previews, "MOST_PREVIEWED", 3)
    monkeypatch.setattr(client.app.state.workers, "_most", 0)  # type: ignore[attr-defined]
    answer = client.post(f"{RUN}/preview", json=body)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")


def test_preview__answers_are_kept_within_a_limit(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previews, "MOST_CACHED", 1)
    served = ServedRuns(lake)
    kept, body = previews.Previews(lake), b'{"standings": [["a", 1], ["b", 2]]}'
    assert kept.answer(served.runs["run"], body) is not kept.answer(served.runs["run"], body)


def test_events__count_from_their_acceptance_until_the_client_leaves(client: TestClient) -> None:
    async def leave() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        pass

    async def listen() -> None:
        listeners = Listeners(most=2)
        streams = [listeners.stream(version_events(listeners, lambda: None), {}) for _ in range(2)]
        with pytest.raises(Problem, match="too many connections wait"):
            listeners.stream(version_events(listeners, lambda: None), {})
        for stream in streams:
            await stream({"type": "http", "asgi": {"spec_version": "2.3"}}, leave, send)
        assert listeners.n == 0

    asyncio.run(listen())
    assert Listeners()._most == MOST_LISTENERS
    assert client.head(f"{RUN}/events").headers["content-type"].startswith("text/event-stream")  # and it ends


@pytest.mark.parametrize("ranges", ["lines=1", "bytes=5-2", "bytes=", "bytes=a-b", f"bytes={'9' * 400}-",
                                    "bytes=" + ",".join(["0-1"] * (MOST_RANGES + 1))])  # fmt: skip
def test_data__invalid_ranges_are_an_error(client: TestClient, ranges: str) -> None:
    answer = client.get("/data/run/latest.parquet", headers={"range": ranges})
    assert (answer.status_code, answer.json()["parameter"]) == (400, "Range")
    assert client.get("/data/run/latest.parquet", headers={"range": "bytes=999999999-"}).status_code == 416
    assert client.get("/data/run/latest.parquet", headers={"range": "bytes=0-3, -4"}).status_code == 206


# Files


def test_data__files_are_served_by_ranges(client: TestClient, lake: Lake) -> None:
    folder = Path(lake.uri("published/run"))
    patterns = ("index.json", "latest*.parquet", "ratings/**/*.parquet", "*/_delta_log/*.json")
    for path in [path for pattern in patterns for path in folder.glob(pattern)]:
        address = f"/data/run/{path.relative_to(folder).as_posix()}"
        assert client.get(address).content == path.read_bytes()
        part = client.get(address, headers={"range": "bytes=4-11"})
        assert (part.status_code, part.content) == (206, path.read_bytes()[4:12])
    whole = client.get("/data/run/latest.parquet")
    assert client.get("/data/run/latest.parquet", headers={"if-none-match": whole.headers["etag"]}).status_code == 304


@pytest.mark.parametrize(
    "path",
    ["", "ratings", "ratings/", "../../runs/run/run.json", "..%2F..%2Fruns/run/run.json",
     "ratings/%2e%2e%2flatest.json", "ratings/%2e%2e/%2e%2e/hidden/latest.parquet", "//etc/passwd",
     "ratings/.tmp", "ratings/none.parquet", "ratings/%00", "lease-000000.json"],
)  # fmt: skip
def test_data__nothing_else_is_reachable(client: TestClient, path: str) -> None:
    response = client.get(f"/data/run/{path}")
    assert response.status_code == 404, response.text
    assert problem(client, "/data/hidden/latest.parquet", 404)["runs"] == ["run"]


def test_data__a_link_out_of_the_folder_is_not_followed(client: TestClient, lake: Lake) -> None:
    link = Path(lake.uri("published/run/players/outside.parquet"))
    link.symlink_to(lake.uri("runs/run/run.json"))
    try:
        assert client.get("/data/run/players/outside.parquet").status_code == 404
    finally:
        link.unlink()


# Caching


def addresses() -> list[str]:
    fill = {"{handle}": "player%201", "{contest_id}": "3", "{problem}": "3-A"}
    query = dict.fromkeys(("/players", "/compare", "/teamrate"), "?handles=Zo%C3%AB") | {"/search": "?q=pl"}
    query["/players/{handle}/between"] = "?since=2002-01-01&until=2004-01-01"
    paths = []
    for endpoint in ENDPOINTS:
        path = endpoint.path
        for variable, value in fill.items():
            path = path.replace(variable, value)
        paths.append(f"{RUN}{path}{query.get(endpoint.path, '')}")
    return [API, "/openapi.json", *paths]


@pytest.mark.bound("ranklake.flows.serving.messages.responses._MAX_AGE")
@pytest.mark.parametrize("address", addresses())
def test_get__has_validators_and_answers_304(client: TestClient, address: str) -> None:
    response = client.get(address)
    assert response.status_code == 200
    headers = response.headers
    assert headers["cache-control"].startswith("public, max-age=")
    assert headers["x-content-type-options"] == "nosniff"
    for known in ({"if-none-match": headers["etag"]}, {"if-modified-since": headers["last-modified"]},
                  {"if-none-match": f'"other", {headers["etag"]}'}):  # fmt: skip
        again = client.get(address, headers=known)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", headers["etag"])
    assert client.get(address, headers={"if-none-match": 'W/"other"'}).status_code == 200
    head = client.head(address)
    assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", headers["etag"])
    crossed = client.get(address, headers={"origin": "https://example.org"})
    assert crossed.headers["access-control-allow-origin"] == "*"


def test_get__is_compressed_on_request(client: TestClient) -> None:
    plain = client.get(f"{RUN}/leaderboard", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    for accepted, encoding in (("gzip", "gzip"), ("gzip, zstd;q=0", "gzip"), ("br, zstd, gzip", "zstd")):
        with client.stream("GET", f"{RUN}/leaderboard", headers={"accept-encoding": accepted}) as response:
            data = b"".join(response.iter_raw())
        assert response.headers["content-encoding"] == encoding
        size = len(plain.content)
        unpacked = (
            gzip.decompress(data) if encoding == "gzip" else pa.Codec("zstd").decompress(data, size, asbytes=True)
        )
        assert unpacked == plain.content


# Errors


@pytest.mark.bound("ranklake.flows.serving.endpoints.MOST_ROWS")
def test_errors__name_the_parameter_its_value_and_the_rule(client: TestClient) -> None:
    document = problem(client, f"{RUN}/leaderboard", 400, limit=5000)
    assert (document["parameter"], document["value"]) == ("limit", "5000")
    assert document["rule"] == "must be an integer >= 1 and <= 1,000"
    assert document["detail"] == "limit must be an integer >= 1 and <= 1,000, got '5000'"


@pytest.mark.bound("ranklake.storage.names.search._LONGEST")
@pytest.mark.bound(
    "ranklake.flows.serving.endpoints.MOST_HANDLES",
    "ranklake.flows.serving.endpoints.MOST_COMPARED",
    "ranklake.flows.http.server.parameters.LONGEST",
)
@pytest.mark.parametrize(
    ("path", "query", "parameter"),
    [
        ("/leaderboard", {"limit": "ten"}, "limit"),
        ("/leaderboard", {"start": "-1"}, "start"),
        ("/leaderboard", {"start": "١"}, "start"),
        ("/leaderboard", {"order": "sigma"}, "order"),
        ("/leaderboard", {"title": "boss"}, "title"),
        ("/leaderboard", {"format": "xml"}, "format"),
        ("/leaderboard", {"at": "yesterday"}, "at"),
        ("/leaderboard", {"at": "9" * 17}, "at"),
        ("/leaderboard", {"active_since": "01/02/2026"}, "active_since"),
        ("/contests", {"until": "1700000000000"}, "until"),
        ("/leaderboard", {"active": "0y"}, "active"),
        ("/leaderboard", {"active": "1y\n"}, "active"),
        ("/distribution", {"year": "0"}, "year"),
        ("/leaderboard", {"limits": "1"}, "limits"),
        ("/leaderboard", [("limit", "1"), ("limit", "2")], "limit"),
        ("/distribution", {"width": "nan"}, "width"),
        ("/distribution", {"width": "1e-5"}, "width"),
        ("/count", {"min": "inf"}, "min"),
        ("/players", {}, "handles"),
        ("/players", {"handles": ",".join(map(str, range(201)))}, "handles"),
        ("/compare", {"handles": ",".join(map(str, range(21)))}, "handles"),
        ("/search", {"q": ""}, "q"),
        ("/search", {"q": "x" * 101}, "q"),
        ("/compare", {"handles": "x" * 4_001}, "handles"),
        ("", {"x": "1"}, "x"),
    ],
)
def test_errors__wrong_parameters_are_refused(client: TestClient, path: str, query: Any, parameter: str) -> None:
    response = client.get(f"{RUN}{path}", params=query)
    assert (response.status_code, response.json()["parameter"]) == (400, parameter), response.text


def test_errors__milliseconds_are_named(client: TestClient) -> None:
    document = problem(client, f"{RUN}/contests", 400, since="1700000000000")
    assert document["rule"].endswith("; divide milliseconds by 1,000")
    body = {"standings": [["a", 1], ["b", 2]], "time_seconds": 1_700_000_000_000}
    response = client.post(f"{RUN}/preview", json=body)
    assert (response.status_code, "divide milliseconds" in response.json()["detail"]) == (400, True)


def test_errors__missing_things_name_what_is_near(client: TestClient) -> None:
    assert "player 1" in problem(client, f"{RUN}/players/PLAYR%201", 404)["near"]
    assert "player 1" in problem(client, f"{RUN}/compare", 404, handles="PLAYR 1")["near"]
    assert problem(client, f"{RUN}/contests/last", 404)["near"] == ["last/1"]
    hidden = problem(client, f"{API}/hidden/leaderboard", 404)
    assert "`ranklake publish --run hidden`" in hidden["detail"]
    assert hidden["runs"] == ["run"]
    assert "openapi.json" in problem(client, "/nothing/at/all", 404)["detail"]


@pytest.mark.bound("ranklake.flows.serving.app.MOST_BODY")
def test_errors__methods_and_bodies(client: TestClient) -> None:
    assert client.delete(f"{RUN}/leaderboard").status_code == 405
    for body in (b"", b"[]", b'{"handles": "a"}', b'{"handles": []}', b"[" * 10_000, b"\xff"):
        response = client.post(f"{RUN}/players", content=body)
        assert (response.status_code, response.headers["content-type"]) == (400, "application/problem+json")
    assert client.post(f"{RUN}/players", content=b" " * (2 << 20)).status_code == 413


def test_parameter__description_and_rule_agree() -> None:
    for parameter in (p for endpoint in ENDPOINTS for p in endpoint.parameters):
        assert isinstance(parameter, Parameter)
        schema = parameter.openapi()["schema"]
        if parameter.default not in (None, ""):
            assert parameter.read(str(parameter.default)) == parameter.default == schema["default"]


def test_openapi__describes_every_endpoint(client: TestClient) -> None:
    document = get(client, "/openapi.json")
    paths = {f"{API}/{{run}}{endpoint.path}" for endpoint in ENDPOINTS}
    assert paths <= document["paths"].keys()
    assert document["components"]["parameters"]["run"]["schema"]["enum"] == ["run"]


def test_documentation__lists_every_endpoint_with_its_parameters() -> None:
    text = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    page = text.partition("\n## Endpoints\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| `")]
    documented = {path.strip().strip("`"): names.strip().strip("`") for path, names in rows}
    assert documented == {one.path: ", ".join(p.name for p in one.parameters) for one in ENDPOINTS}


# Versions


def test_refresh__takes_up_a_new_version_and_keeps_the_old_one_on_damage(
    tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    from helpers.lakes import ingest, lake_of, rate_run, synthetic

    contests = synthetic(12)
    lake = lake_of(tmp_path / "lake", contests[:8])
    rate_run(lake)
    publish(lake, "run")
    served = ServedRuns(lake)
    client = TestClient(create_app(served, refresh_seconds=0))
    before = client.get(f"{RUN}/leaderboard")
    assert not served.refresh()
    ingest(lake, contests)
    rate_run(lake)
    publish(lake, "run")
    assert served.refresh()
    after = client.get(f"{RUN}/leaderboard", headers={"if-none-match": before.headers["etag"]})
    assert (after.status_code, after.json()["version"][:2]) == (200, "2-")
    Path(lake.uri("published/run/index.json")).write_bytes(b"torn")
    assert not served.refresh()
    assert served.n_failures == 1
    assert "the server goes on with the state it has" in caplog.text
    assert client.get(f"{RUN}/leaderboard").content == after.content
    rate_run(lake, run="second")
    publish(lake, "second")
    assert served.refresh()
    assert [run["run"] for run in client.get(API).json()["runs"]] == ["run", "second"]
