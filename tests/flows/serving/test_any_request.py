"""Requests made from the OpenAPI document, valid and not: every answer is one that the document describes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

pytest.importorskip("starlette")
from helpers.api import TestClient

EXAMPLES = 10  # of each operation, valid and invalid
# A stream does not end; the document lists its answers as the others.
LEFT_OUT = ("/events",)


@pytest.mark.slow
def test_openapi__every_answer_is_described(client: TestClient) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="needs the package schemathesis (extra test)")
    valid, invalid = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    operations = [found.ok() for found in schema.get_all_operations()]
    unseen, accepted = set(), set()
    for operation in operations:
        definition = operation.definition.raw
        if operation.path.endswith(LEFT_OUT):
            continue
        if 200 not in ask(client, operation.as_strategy(generation_mode=valid)):
            unseen.add(operation.label)  # most random handles, ids and paths do not exist
        if "requestBody" in definition or any(one.get("in") == "query" for one in definition["parameters"]):
            refused = ask(client, operation.as_strategy(generation_mode=invalid)) & {400, 404}
            accepted |= set() if refused else {operation.label}
    assert accepted == set()
    assert len(operations) - len(unseen) > 10, unseen


def ask(client: TestClient, cases: Any) -> set[int]:
    """Send requests, check that the document has each answer; returns their statuses."""
    statuses: set[int] = set()

    @seed(2021)
    @settings(max_examples=EXAMPLES, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(case=cases)
    def each(case: Any) -> None:
        response = request(client, case)
        statuses.add(response.status_code)
        described = case.operation.definition.raw["responses"]
        assert str(response.status_code) in described, (response.url, response.text)
        if response.status_code in (301, 304):
            return
        media = response.headers["content-type"].partition(";")[0]
        assert media in described[str(response.status_code)]["content"], response.url
        if media == "application/problem+json":
            assert response.json()["status"] == response.status_code
            assert not re.search(r"Traceback|File \"", response.text)

    each()
    return statuses


def request(client: TestClient, case: Any) -> Any:
    """Send a case; the client of Starlette speaks to the application without a network."""
    given = case.as_transport_kwargs(base_url="http://testserver")
    content = given.get("data")
    body = {"content": content} if isinstance(content, (bytes, str)) else {"json": given.get("json")}
    return client.request(given["method"], given["url"], params=given.get("params"), headers=given["headers"], **body)
