"""Every parameter of every address, of any length and kind: an answer, or an error that names the parameter.

The parameters are those of the OpenAPI document, of the pages and of their routes, so that a new one is here, too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any
from urllib.parse import quote, unquote

import pytest

pytest.importorskip("starlette")
from helpers.addresses import VALID, Asked, all_parameters
from helpers.api import ask
from starlette.applications import Starlette

from ranklake.flows.http.server.parameters import LONGEST, Parameter, parse
from ranklake.flows.http.server.problems import Problem
from ranklake.flows.serving.app import create_app
from ranklake.flows.serving.openapi import openapi
from ranklake.flows.serving.state.served_runs import ServedRuns
from ranklake.storage import Lake

DIGITS = ["9" * 400, "-" + "9" * 400, "0" * 400, "9" * 5000, "9" * 19, "-1", "+1", "1_0", " 1", "1 ", "0x10", "\u0663"]
NUMBERS = ["1.5", "1e400", "1e-400", "-1e9999", "nan", "inf", "-Infinity", ".", "e5", "--1", "1e99999",
           "9" * 400 + ".0"]  # fmt: skip
TEXTS = ["", " ", "x" * LONGEST, "x" * (LONGEST + 1), "e\u0301\u2603", "\U0001f600" * 500, "\0", "a\nb\r\nc",
                                        "<script>",
         "'\"", "%", "..", "../..", "player 1", "old one", "," * 300, "a," * 300, "true", "null", "[]", "country:",
         ":"]  # fmt: skip
TIMES = ["2020-13-45", "0000-00-00", "9999-12-31T23:59:60+99:99", "253402300800", "90d", "0d", "9" * 400 + "d",
         "99999999y"]  # fmt: skip
VALUES = [quote(text, safe="") for text in DIGITS + NUMBERS + TEXTS + TIMES]
BROKEN = ["%zz", "%", "%f", "%ff%fe", "%ed%a0%80", "%00", "%u0041", "+", "%25zz", ";", "#"]
FEW = [quote(text, safe="") for text in ("9" * 400, "nan", "", "\0", "x" * (LONGEST + 1), "\u0663")] + ["%ff", "1&{}=2"]
WRONG = ["9" * 400, "-1", "1.5", "1e400", "1e999999999", "NaN", "null", "true", '""', '"\\u0000"', '"\\ud800"', "[]",
         "{}", "[[]]", "[null]", '[["a", 1, ["b"], [1e400]]]', '[["a", ' + "9" * 400 + "]]", '["' + "x" * 70_000 + '"]',
         '[["a", 1, [' + '"b",' * 2000 + '"c"]]]', "[" * 5000 + "]" * 5000]  # fmt: skip


CASES = all_parameters()


@pytest.fixture(scope="module")
def app(lake: Lake) -> Iterator[Starlette]:
    return create_app(ServedRuns(lake), 0)


def check(app: Starlette, requests: Iterable[tuple[Asked, str]]) -> None:
    """Send each request; no answer is an error of the server, and an error of the client names the parameter."""

    async def each() -> None:
        for (address, name), value in requests:
            path, _, query = address.partition("?")
            html = [(b"accept", b"text/html")] if not path.startswith(("/api", "/data")) else []
            value = value.replace("{}", name)
            if query:
                answer = await ask(app, path, query.replace("{}", value).encode("ascii"), html)
            else:
                answer = await ask(app, path.replace("{}", unquote(value)), b"", html)
            shown = (address, value[:100], answer)
            assert answer[0] in (200, 301, 303, 307, 400, 404, 405), shown
            assert b"Traceback" not in answer[2], shown
            if answer[0] < 400:
                continue
            kind = answer[1]["content-type"]
            assert kind == ("text/html; charset=utf-8" if html else "application/problem+json"), shown
            if answer[0] == 400:
                assert name.encode() in answer[2], shown
                assert html or json.loads(answer[2])["parameter"].startswith(name), shown

    asyncio.run(each())


def test_cases__have_every_parameter() -> None:
    names = {case.name for case in CASES}
    assert {"limit", "at", "handles", "group", "page", "h", "handle", "contest_id", "run", "path"} <= names
    assert len(CASES) > 50


@pytest.mark.slow
def test_parameters__of_any_kind_have_an_answer(app: Starlette) -> None:
    check(app, product(CASES, FEW))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=[f"{case.address} {case.name}" for case in CASES])
def test_parameters__of_every_kind_have_an_answer(app: Starlette, case: Asked) -> None:
    check(app, product([case], VALUES + BROKEN + [f"{value}&{{}}={value}" for value in FEW] + ["1&{}[]=1"]))


@pytest.mark.parametrize("text", [*DIGITS, *NUMBERS, "", "\0", "1\n"])
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_number__has_ascii_digits_and_nothing_else(kind: Any, text: str) -> None:
    parameter = Parameter("n", kind, "", None, 0, 10)
    valid = {"+1": 1, "1.5": 1.5, "1e-400": 0.0, "0" * 400: 0.0}
    if text in valid and (kind == "number" or text == "+1"):
        assert parameter.read(text) == valid[text]
        return
    with pytest.raises(Problem) as error:
        parameter.read(text)
    assert (error.value.status, error.value.facts["parameter"]) == (400, "n")


def test_handles__may_be_given_one_by_one() -> None:
    handles = Parameter("handles", "handles", "Handles.", None, 1, 3, required=True)
    asked = lambda *texts: parse((handles,), [("handles", text) for text in texts])["handles"]  # noqa: E731
    assert (asked("a,b"), asked("a", "b")) == (["a,b"], ["a", "b"])
    assert asked("Smith, Anna", "b") == ["Smith, Anna", "b"]
    for texts in (["", ""], ["a", "b", "c", "d"], ["a", "b" * LONGEST]):
        with pytest.raises(Problem, match="1 to 3 handles"):
            asked(*texts)


def bodies() -> Iterator[tuple[str, bytes]]:
    """Bodies of POST requests, with a wrong value of each member."""
    for path, operations in openapi()["paths"].items():
        if "post" in operations:
            schema = operations["post"]["requestBody"]["content"]["application/json"]["schema"]
            valid = {"standings": '[["player 1", 1]]', "handles": '["player 1"]'}
            for name, value in product(schema["properties"], WRONG):
                members = {one: valid[one] for one in schema["required"]} | {name: value}
                text = ",".join(f'"{one}": {given}' for one, given in members.items())
                yield path.format_map(VALID), f"{{{text}}}".encode()


def test_bodies__of_any_kind_have_an_answer(app: Starlette) -> None:
    async def each() -> None:
        for path, body in bodies():
            status, headers, data = await ask(app, path, method="POST", body=body)
            assert status in (200, 400, 413), (path, body[:200], data)
            assert status == 200 or headers["content-type"] == "application/problem+json"

    asyncio.run(each())
