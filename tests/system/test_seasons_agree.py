"""All doors say the same of a season: command, notebook, API, tables; the witness is a count in plain Python."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import Command
from helpers.games import DAY
from helpers.lakes import contest, lake_of, rate_run, synthetic

from ranklake import Ratings
from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.answers.run import open_published
from ranklake.flows.events.start import season_event
from ranklake.flows.publication.publish import publish
from ranklake.flows.site.publish import publish_site
from ranklake.storage import Dataset, Lake

pytest.importorskip("starlette")
from helpers.api import client_of

API = "/api/v1/runs/run"
FIELDS = ("ann bob cy", "bob ann", "cy bob dee", "dee ann", "bob cy ann", "eve dee", "ann bob")
SEASONS = {"spring": (3, 2, 5), "summer": (6, 5, 7)}  # first day, first round, the round after the last


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = lake_of(
        tmp_path / "lake", [contest(str(i), *who.split(), time_seconds=i * DAY) for i, who in enumerate(FIELDS, 1)]
    )
    with Dataset.ingest(lake, "games") as body:
        for name, (day, *_) in SEASONS.items():
            body.start_season(season_event(name, day * DAY, reset=False))
    rate_run(lake, system="glicko")
    publish(lake, "run")
    return lake


def counted(first: int, stop: int) -> dict[str, int]:
    """The contests of each player in some rounds."""
    names = [name for who in FIELDS[first:stop] for name in who.split()]
    return {name: names.count(name) for name in names}


@pytest.mark.parametrize("season", SEASONS)
def test_season__is_the_same_at_every_door(lake: Lake, invoke: Command, season: str) -> None:
    _, first, stop = SEASONS[season]
    expected = counted(first, stop)
    at = ("--run", "run", "--lake", lake.url, "--format", "json")
    rows = json.loads(invoke("leaderboard", "--season", season, *at).out)
    assert {row["handle"]: row["season_rounds"] for row in rows} == expected
    noted = Ratings.open(lake, "run").leaderboard(season=season)
    assert noted["player"].to_list() == [row["handle"] for row in rows]
    with client_of(lake) as client:
        served = client.get(f"{API}/leaderboard", params={"season": season, "provisional": "hide"}).json()["rows"]
        everybody = client.get(f"{API}/leaderboard", params={"season": season}).json()["rows"]
        bins = client.get(f"{API}/distribution", params={"season": season}).json()
        (listed,) = [one for one in client.get(f"{API}/seasons").json()["rows"] if one["name"] == season]
        history = client.get(f"{API}/players/ann/history", params={"season": season}).json()["rows"]
        placed = client.get(f"{API}/leaderboard", params={"season": season, "placement": 2, "provisional": "hide"})
        page = client.get("/run", params={"season": season}).text
        graph = client.get("/run/p/ann").text
    for row, other in zip(served, rows, strict=True):
        assert {name: row[name] for name in other} == other
    assert {row["handle"] for row in everybody if row["provisional"]} == {
        name for name in counted(0, stop) if name not in expected
    }
    assert bins["n_players"] == len(expected)
    assert [row["round_index"] for row in history] == [
        index for index in range(first, stop) if "ann" in FIELDS[index].split()
    ]
    assert {row["handle"] for row in placed.json()["rows"]} == {name for name, n in expected.items() if n >= 2}
    assert (listed["first_round"], listed["n_rounds"], listed["n_players"]) == (first, stop - first, len(expected))
    assert (listed["reset"], listed["keep"], listed["start_seconds"]) == (False, None, SEASONS[season][0] * DAY)
    body = re.search(r"<tbody.*</table>", page, re.DOTALL)
    shown = (
        [re.sub(r"<small>.*?</small>|<[^>]*>", " ", row).split() for row in body[0].split("<tr>")[1:]] if body else []
    )
    for row, other in zip(shown, rows, strict=True):
        start, rating = other["season_start_rating"], other["rating"]
        change = "–" if start is None else f"{round(rating) - round(start):+d}"
        assert row[1:4] == [other["handle"], str(round(rating)), change]
        assert str(other["season_rounds"]) in row
    assert f"<h1>Leaderboard: season {season}</h1>" in page
    assert [name for name in SEASONS if f"<title>{name}</title>" in graph] == list(SEASONS)
    (of_command,) = [one for one in json.loads(invoke("season", "list", "--dataset", "games", *at[2:]).out)
                     if one["name"] == season]  # fmt: skip
    assert {name: listed[name] for name in of_command} == of_command


@pytest.mark.parametrize(
    ("path", "query", "words"),
    [
        ("leaderboard", {"season": "autumn"}, "season must be one of current, spring, summer"),
        ("leaderboard", {"season": "spring", "at": "2020-01-01"}, "season takes no at"),
        ("leaderboard", {"placement": "2"}, "placement needs a season"),
        ("distribution", {"season": "spring", "year": "2020"}, "season takes no year"),
        ("players/ann/history", {"season": "autumn"}, "season must be one of"),
    ],
)
def test_season__that_is_none_is_refused(lake: Lake, path: str, query: dict[str, str], words: str) -> None:
    with client_of(lake) as client:
        answer = client.get(f"{API}/{path}", params=query)
    assert answer.status_code == 400
    assert answer.json()["title"].startswith(words) or words in answer.text


def test_seasons__that_change_make_a_new_publish_and_no_other_table(lake: Lake) -> None:
    def state() -> dict[str, Any]:
        with client_of(lake) as client:
            return {"rows": client.get(f"{API}/seasons").json()["rows"], "version": client.get(API).json()["version"]}

    before = state()
    with Dataset.ingest(lake, "games") as body:
        body.remove_season("spring")
    assert publish(lake, "run").tables == ("seasons",)
    after = state()
    assert [row["name"] for row in after["rows"]] == ["summer"]
    assert before["version"] != after["version"]
    with Dataset.ingest(lake, "games") as body:
        body.remove_season("summer")
    assert publish(lake, "run").tables == ("seasons",)
    assert state()["rows"] == []


def test_changes_on_the_static_site__leave_resets_out_as_the_server_does(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    lake = lake_of(tmp_path / "lake", synthetic(12, n_players=14, size=8, spice=False))
    ends = Dataset.open(lake, "games").contests.column("time_seconds").to_pylist()
    with Dataset.ingest(lake, "games") as body:
        for name, index in (("a", 5), ("b", 9)):
            body.start_season(season_event(name, ends[index - 1] + 1, keep=0.25))
    rate_run(lake)
    publish(lake, "run")
    publish_site(lake, "run", str(tmp_path / "site"))
    rows = [RatedRun(lake, "run").leaderboard(season=name).to_pylist() for name in ("a", "b")]
    for number, shown in enumerate(rows):
        page = (tmp_path / f"site/v/000001/seasons/{number}.html").read_text()
        assert re.findall(r"<tr><td>\d.*?h=[^>]*>([^<]*)<", page) == [
            row["handle"] for row in shown if not row["provisional"]
        ]
        assert f"Leaderboard: season {'ab'[number]}" in page
    assert "Season b" in (tmp_path / "site/index.html").read_text()
    run, n = open_published(lake, "run"), 0
    for path in (tmp_path / "site/data/contests").glob("*.json.gz"):
        shown = json.loads(gzip.decompress(path.read_bytes()))
        served = {row["handle"]: row for row in run.contest(shown["contest_id"])[1].rows.to_pylist()}
        for handle, change in zip(shown["handle"], shown["change"], strict=True):
            row = served[handle]
            rounded = None if row["change"] is None else round(row["rating"]) - round(row["rating_before"])
            assert change == rounded, (shown["contest_id"], handle)
            n += 1
    assert n > 40
    with client_of(lake) as client:
        page = client.get("/run?active=all").text
    served = dict(re.findall(r"/run/p/([^\"]+)\">.*?<span class=(?:up|down)>([+-]\d+)", page))
    static = (tmp_path / "site/v/000001/leaderboard/000.html").read_text()
    shown = dict(re.findall(r"h=([^\"]+)\">.*?<span class=(?:up|down)>([+-]\d+)", static))
    assert len(shown) > 8
    assert shown == served


def test_publish__without_seasons_has_no_table_of_them(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", [contest("1", "ann", "bob", time_seconds=DAY)])
    rate_run(lake)
    assert "seasons" not in publish(lake, "run").tables
    assert not Path(lake.url, "run/published/seasons").exists()
    with client_of(lake) as client:
        assert client.get(f"{API}/seasons").json()["rows"] == []
        answer = client.get(f"{API}/leaderboard?season=current")
        assert "the run has no seasons" in answer.text
