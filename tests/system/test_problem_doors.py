"""All doors have the same problems: the command, the notebook and the API of a published run."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

pytest.importorskip("starlette")
from helpers.api import client_of
from helpers.commands import Command
from helpers.lakes import lake_of, rate_run, synthetic
from helpers.problems import STRANGE, solve_some

from ranklake import Ratings
from ranklake.flows.publication.publish import publish
from ranklake.storage import Lake

CONTESTS = ["7", "8", "9"]


def lake_with(path: Path, system: str) -> Lake:
    lake = lake_of(path, synthetic(12))
    rate_run(lake, system=system)
    solve_some(lake, CONTESTS)
    publish(lake, "run")
    return lake


def check_problems(lake: Lake, invoke: Command) -> None:
    command = json.loads(invoke("problems", "--run", "run", "--all", "--format", "json", "--lake", lake.url).out)
    frame = Ratings.open(lake, "run").problems()
    assert frame["problem"].tolist() == [row["problem"] for row in command]
    for name in ("difficulty", "deviation", "counted", "solved", "share", "rating_80"):
        assert frame[name].tolist() == [row[name] for row in command]
    with client_of(lake) as client:
        api = "/api/v1/runs/run"
        served = client.get(f"{api}/problems").json()["rows"]
        assert [{name: row[name] for name in command[0]} for row in served] == command
        for row in command:
            alone = client.get(f"{api}/problems/{row['problem'].replace('?', '%3F').replace('#', '%23')}").json()
            assert {name: alone[name] for name in row} == row
            assert sum(band["counted"] for band in alone["bands"]) == row["counted"]
            assert sum(band["solved"] for band in alone["bands"]) == pytest.approx(row["solved"], rel=1e-15)
            likely = (1.0 + 10.0 ** ((row["difficulty"] - row["rating_80"]) / 400.0)) ** -1
            assert likely == pytest.approx(0.8, rel=1e-12)
        for contest in CONTESTS:
            words = ("problems", "--run", "run", "--contest", contest, "--format", "json", "--lake", lake.url)
            shown = [row["problem"] for row in json.loads(invoke(*words).out)]
            rows = client.get(f"{api}/problems", params={"contest": contest}).json()["rows"]
            assert [row["problem"] for row in rows] == shown
            assert STRANGE in shown
            check_page(client.get(f"/run/c/{contest}").text, command, [*rows])
        check_page(client.get("/run/problems").text, command, command)
        player = client.get(f"{api}/leaderboard").json()["rows"][0]["handle"]
        query = {"chance": 0.5, "width": 0.5}
        rows = client.get(f"{api}/players/{player}/problems", params=query).json()["rows"]
        page = client.get(f"/run/p/{player}/problems", params=query).text
        check_page(page, command, rows)
        chances = [f"<td>{min(max(round(row['chance'] * 100), 1), 99)} %" for row in rows]
        assert re.findall(r"<td>\d+ %", page) == chances
        assert f'/run/p/{quote(player)}/problems?chance=0.8"' in client.get(f"/run/p/{player}").text


def check_page(page: str, command: list[dict[str, Any]], rows: list[dict[str, Any]]) -> None:
    """Hold the table of a page to the rows of the command."""
    table = page.partition('id="problems"')[2].partition("</table>")[0]
    known = {row["problem"]: row for row in command}
    shown = re.findall(r'<tr><td><a href="/run/problems/([^"]*)">', table)
    assert sorted(shown) == sorted(quote(row["problem"], "") for row in rows)
    for problem in shown:
        row = known[unquote(problem)]
        difficulty = f"<td>{escape({'above': '> ', 'below': '< '}.get(row['bound'], ''))}{row['difficulty']:.0f}<td"
        cells = table.partition(f'/run/problems/{problem}"')[2].partition("<tr>")[0]
        assert difficulty in cells
        assert f">{row['deviation']:.0f}<td" in cells
        assert f"<td>{row['solved']:g} of {row['counted']:g}" in cells


def test_problems__are_the_same_at_every_door(tmp_path: Path, invoke: Command) -> None:
    check_problems(lake_with(tmp_path / "lake", "elo-mmr"), invoke)


@pytest.mark.slow
@pytest.mark.parametrize("system", ["glicko", "codeforces"])
def test_problems__are_the_same_for_other_systems(tmp_path: Path, invoke: Command, system: str) -> None:
    check_problems(lake_with(tmp_path / "lake", system), invoke)
