"""Requests made from the OpenAPI document, valid and not, and addresses of pages with any text.

Every answer of the API is one that the document describes; no page fails.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

pytest.importorskip("starlette")
from helpers.api import TestClient

EXAMPLES = 10  # of each operation, valid and invalid
# A stream does not end; the document lists its answers as the others.
LEFT_OUT = ("/events",)
PAGES = ("/{}", "/{}/contests", "/static/{}", "/static/titles/{}.css", "/run/p/{}", "/run/p/{}/graph.svg",
         "/run/p/{}/badge.svg", "/run/c/{}", "/run/{}", "/run?page={}", "/run?q={}", "/run/compare?h={}",
         "/run/distribution?handle={}", "/run/preview?x={}",
         "/{}/groups", "/run?group={}", "/run?active={}")  # fmt: skip
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(
    ["player 1", "player 1,player 2", "<script>", "old one", "-1", "9" * 30, "1e9", "nan", "..", "\0", "%", "'\""]
)


@pytest.mark.slow
def test_openapi__every_answer_is_described(client: TestClient) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="needs the package schemathesis (group test)")
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


@pytest.mark.slow
@seed(2021)
@settings(max_examples=300, database=None, deadline=None, phases=[Phase.generate],
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(page=st.sampled_from(PAGES), text=TEXTS, html=st.booleans())
def test_pages__any_text_in_an_address_has_a_page(pages: TestClient, page: str, text: str, html: bool) -> None:
    accept = "text/html" if html else "*/*"
    response = pages.get(page.format(quote(text, "")), headers={"accept": accept})
    assert response.status_code in (200, 301, 303, 307, 400, 404), response.url
    assert not re.search(r"Traceback|File \"", response.text)
    is_html = response.headers.get("content-type", "").startswith("text/html")
    assert is_html or not html or response.status_code < 400
    if is_html and len(text) > 3 and re.search("[<>]", text):
        assert text not in response.text


@pytest.mark.slow
@seed(2021)
@settings(max_examples=100, database=None, deadline=None, phases=[Phase.generate],
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(body=st.binary(max_size=60) | st.builds(lambda a, b: urlencode({"standings": a, "entrants": b}).encode(),
                                               TEXTS, TEXTS))  # fmt: skip
def test_pages__any_form_has_a_page(pages: TestClient, body: bytes) -> None:
    response = pages.post("/run/preview", content=body)
    assert response.status_code in (200, 400, 413), body
    assert not re.search(r"Traceback|File \"", response.text)


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
