"""The page docs/live.md: its first command makes a service, its requests get the answers that it shows."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helpers.documents import block_of, page
from helpers.lakes import start

from ranklake.flows.cli.main import cli
from ranklake.flows.live.matches.match import MatchLimits

pytest.importorskip("uvicorn")


def numbers(answer: Any) -> Any:
    """An answer with rounded numbers."""
    if isinstance(answer, list):
        return [numbers(one) for one in answer]
    if isinstance(answer, dict):
        return {name: numbers(one) for name, one in answer.items()}
    return round(answer, 1) if isinstance(answer, float) else answer


@pytest.mark.slow
def test_first_rating__is_as_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import httpx

    (command,) = (line for line in block_of("live", "sh", "ranklake rated").splitlines() if line.startswith("ranklake"))
    with start(*shlex.split(command)[1:], "--port", "0", cwd=tmp_path) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().decode()
            address = line.split(" at ")[1].partition("/;")[0]
            assert line.replace(address, "http://127.0.0.1:8090") == block_of("live", "text", "rating matches")
            curl = shlex.split(block_of("live", "sh", "curl"))
            path, body = curl[1].partition("/")[2], curl[3]
            answer = httpx.post(f"{address}/{path}", content=body, timeout=60)
            assert numbers(answer.json()) == json.loads(block_of("live", "json", "m-1"))
            exec(block_of("live", "python", "httpx").replace("http://localhost:8090", address), {})
        finally:
            process.kill()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("200 {'player': 'ada'")  # sent by curl before
    assert lines[1:4] == ["200 True", "201 m-2", "201 m-3"]
    assert lines[5] == "ada"
    assert 0.5 < json.loads(lines[6])[0] < 1.0


def test_options__are_all_listed() -> None:
    shown = set(re.findall(r"--[a-z-]+", CliRunner().invoke(cli, ["rated", "--help"]).output)) - {"--help"}
    table = page("live").partition("## Options")[2].partition("## Metrics")[0]
    assert shown <= set(re.findall(r"--[a-z-]+", table))


def test_matches__have_the_described_limits() -> None:
    limits, text = MatchLimits(), page("live")
    for words in (f"1 to {limits.name} characters", f"2 to {limits.sides} sides", f"up to {limits.batch:,} matches",
                  f"{limits.ahead} s ahead and a day behind"):  # fmt: skip
        assert words in text, words
    assert limits.behind == 86_400
