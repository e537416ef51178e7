"""The OpenAPI document of the service: every answer is described; metrics have a meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("jsonschema")
from helpers.api import TestClient
from helpers.live_service import RUN, duel, live_service
from hypothesis import HealthCheck, Phase, given, seed, settings
from jsonschema import Draft202012Validator

EXAMPLES = 8  # of each operation, valid and invalid


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with live_service(tmp_path_factory.mktemp("live"), runs=("run", "other")) as client:
        client.post(f"{RUN}/matches", json={"matches": [duel("1"), duel("2", "cy")]})
        yield client


@pytest.fixture(scope="module")
def document(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def strict(schema: Any) -> Any:
    """A schema whose objects have no other members than the described ones."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {"additionalProperties": False} if isinstance(schema.get("properties"), dict) else {}
    return {name: strict(one) for name, one in schema.items()} | closed


def check(document: dict[str, Any], name: str, answer: Any) -> None:
    validator = Draft202012Validator({"components": {"schemas": strict(document["components"]["schemas"])},
                                      "$ref": f"#/components/schemas/{name}"})  # fmt: skip
    assert [f"{list(error.absolute_path)}: {error.message[:300]}" for error in validator.iter_errors(answer)] == []


def test_document__describes_the_answers(client: TestClient, document: dict[str, Any]) -> None:
    match = client.post(f"{RUN}/matches", json=duel("3"))
    sent = [duel("4"), duel("1", score=0), duel("5", "x", "x")]
    check(document, "Match", duel("3"))
    check(document, "Result", match.json())
    check(document, "Results", client.post(f"{RUN}/matches", json={"matches": sent}).json())
    check(document, "StoredMatch", client.get(f"{RUN}/matches/1").json())
    check(document, "LivePlayer", client.get(f"{RUN}/players/ada").json())
    check(document, "LivePlayers", client.post(f"{RUN}/players", json={"handles": ["ada", "zed"]}).json())
    check(document, "LiveLeaderboard", client.get(f"{RUN}/leaderboard").json())
    check(document, "LiveRuns", client.get("/api/v1/runs").json())
    check(document, "Health", client.get("/readyz").json())
    check(document, "Problem", client.post(f"{RUN}/matches", json=duel("1", score=0)).json())


def test_document__has_names_and_references(document: dict[str, Any]) -> None:
    operations = list(chain.from_iterable(found.values() for found in document["paths"].values()))
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names) >= 15
    references = set(re.findall(r'"#/components/schemas/(\w+)"', str(document).replace("'", '"')))
    assert references <= set(document["components"]["schemas"])


def test_metrics__have_a_meaning_and_a_type(client: TestClient) -> None:
    text = client.get("/metrics").text
    names = ["matches_total", "refused_total", "append_seconds", "rate_seconds", "answer_seconds", "queue", "sequence"]
    names += ["unsaved_records", "players", "ready", "replay_mismatch", "stale", "write_failed"]
    for name in names:
        family = f"ranklake_rated_{name}"
        assert re.search(rf"# HELP {family} .+\n# TYPE {family} (counter|gauge|histogram)\n{family}", text), name
    assert re.search(r'ranklake_rated_matches_total\{result="accepted"\} [1-9]', text)
    assert 'ranklake_rated_append_seconds_bucket{le="+Inf"}' in text
    assert "process_resident_memory_bytes" in text
    assert 'ranklake_requests_total{endpoint="post_matches",status="201"}' in text


@pytest.mark.slow
def test_document__every_answer_to_any_request_is_described(client: TestClient) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="needs the package schemathesis (group test)")
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    modes = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
    statuses: set[int] = set()
    for operation in (found.ok() for found in schema.get_all_operations()):
        if operation.path.endswith("/events"):  # it does not end
            continue
        definition = operation.definition.raw
        varied = "requestBody" in definition or any(one["in"] == "query" for one in definition["parameters"])
        for mode in modes[: 1 + varied]:
            statuses |= ask(client, operation.as_strategy(generation_mode=mode))
    assert {200, 400, 404, 422} <= statuses
    assert not {status for status in statuses if status >= 500}


def ask(client: TestClient, cases: Any) -> set[int]:
    """Send requests, check that the document has each answer; returns their statuses."""
    statuses: set[int] = set()

    @seed(2026)
    @settings(max_examples=EXAMPLES, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(case=cases)
    def each(case: Any) -> None:
        given = case.as_transport_kwargs(base_url="http://localhost")
        content = given.get("data")
        body = {"content": content} if isinstance(content, (bytes, str)) else {"json": given.get("json")}
        headers = {name: value for name, value in given["headers"].items() if name.lower() != "authorization"}
        answer = client.request(given["method"], given["url"], params=given.get("params"), headers=headers, **body)
        statuses.add(answer.status_code)
        described = case.operation.definition.raw["responses"]
        assert str(answer.status_code) in described, (answer.url, body, answer.text)
        media = answer.headers["content-type"].partition(";")[0]
        assert media in described[str(answer.status_code)]["content"], answer.url
        assert not re.search(r"Traceback|File \"", answer.text)

    each()
    return statuses
