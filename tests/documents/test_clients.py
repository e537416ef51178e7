"""The clients of docs/serving.md: the chat bot, and a client that is generated from the OpenAPI document."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

pytest.importorskip("starlette")
from examples import bot
from helpers.api import TestClient, client_of
from helpers.documents import block_of
from helpers.lakes import contest, lake_of, rate_run
from helpers.ratings_server import serving

from ranklake.flows.publication.publish import publish
from ranklake.storage import Lake

RUN = "codeforces-elo-mmr"
NAMES = ("tourist", "Petr", "Um_nik", "jiangly")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    contests = [contest(str(day), *NAMES[day % 2 :], time_seconds=(day + 1) * 86_400) for day in range(4)]
    lake = lake_of(tmp_path_factory.mktemp("clients") / "lake", contests)
    rate_run(lake, run=RUN)
    publish(lake, RUN)
    return lake


@pytest.fixture(scope="module")
def client(lake: Lake) -> Iterator[TestClient]:
    with client_of(lake) as client:
        yield client


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rating tourist", ["tourist: ", "place 1", "2 rounds"]),
        ("!rating tourits", ["did you mean tourist?"]),
        ("compare tourist vs Petr", ["tourist before Petr: ", "so far 2-0"]),
        ("compare Petr, Um_nik, jiangly", ["Petr before Um_nik", "Um_nik before jiangly: ", "so far 4-0"]),
        ("compare tourist", ["two players are compared"]),
        ("compare tourist, Petr, Um_nikk", ["tourist before Petr", "nobody is called Um_nikk; did you mean Um_nik"]),
        ("preview jiangly, somebody new, tourist", ["1. jiangly: ", "(+", "3. tourist: ", "(-"]),
        ("preview tourits, Petr", ["1. tourits: ", "(new)", "nobody is called tourits; did you mean tourist"]),
        ("preview Petr, Petr", ["Petr"]),
        ("rating", ["commands: "]),
        ("hello there", ["commands: "]),
    ],
)
def test_bot__answers_in_a_few_lines(client: TestClient, line: str, expected: list[str]) -> None:
    text = bot.answer(client, RUN, line)
    assert [part for part in expected if part not in text] == [], text
    assert len(text.splitlines()) <= bot.MOST_LINES + 2


def test_bot__says_that_there_is_no_such_run_or_server(client: TestClient) -> None:
    assert "is not published" in bot.answer(client, "none", "rating tourist")
    refused = httpx.MockTransport(lambda request: httpx.Response(502, text="<html>bad gateway"))
    with httpx.Client(base_url="http://127.0.0.1:1", transport=refused) as broken:
        assert bot.answer(broken, RUN, "rating tourist") == "the ratings cannot be reached now, try again later"


def test_bot__shortens_long_answers(client: TestClient) -> None:
    lines = bot.answer(client, RUN, f"preview {', '.join(f'newcomer {i}' for i in range(20))}").splitlines()
    assert lines[bot.MOST_LINES - 1] == "... and 13 more"


@pytest.mark.slow
def test_generated_client__asks_a_running_server(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if importlib.util.find_spec("openapi_python_client") is None:
        pytest.skip("needs the package openapi-python-client (group test)")
    with serving(lake) as (_, address):
        server = address.removesuffix("/api/v1/runs")
        (words,) = (line.split() for line in block_of("serving", "sh", "openapi-python-client").splitlines())
        options = [word.replace("http://localhost:8080", server) for word in words[words.index("generate") :]]
        command = [sys.executable, "-m", "openapi_python_client", *options]
        subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
        monkeypatch.syspath_prepend(tmp_path)
        exec(block_of("serving", "python", "ratings_client").replace("http://localhost:8080", server), {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[:3]] == ["tourist", "Petr", "Um_nik"]
    assert lines[3].startswith("tourist ")
    assert lines[4].startswith("no player 'nobody at all'")
