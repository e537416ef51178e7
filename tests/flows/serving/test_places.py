"""How sure a place is at every door: five outputs of one publish have the same rows, and the API computes others."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("starlette")
from helpers.api import TestClient, client_of
from helpers.commands import Command
from helpers.lakes import lake_of, rate_run, synthetic
from helpers.tables import read
from twins.places import table

from ranklake import Ratings
from ranklake.flows.engines.serial import Serial
from ranklake.flows.publication.database import publish_to_database
from ranklake.flows.publication.publish import publish
from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.rate import rate
from ranklake.flows.results.places import PlaceOptions
from ranklake.flows.site.publish import publish_site
from ranklake.rating_kernels import SYSTEMS
from ranklake.storage import Contest, Lake

RUN = "/api/v1/runs/run"
CONTESTS = synthetic(12, spice=False, n_players=24, size=8)
STORED = {"min_rounds": 3, "max_sigma": 320.0, "interval": 0.5}


def rated(folder: Path, system: str, places: Mapping[str, Any], contests: Sequence[Contest] = CONTESTS) -> Lake:
    lake = lake_of(folder, contests)
    rate(lake, RunConfig("games", "run", system, SYSTEMS[system].params(), places=places), Serial())
    return lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = rated(tmp_path_factory.mktemp("places") / "lake", "elo-mmr", STORED)
    rate_run(lake, run="elo", system="elo")
    for run in ("run", "elo"):
        publish(lake, run)
    return lake


@pytest.fixture(scope="module")
def client(lake: Lake) -> Iterator[TestClient]:
    with client_of(lake) as client:
        yield client


def rows(client: TestClient, path: str = "leaderboard", **query: Any) -> list[dict[str, Any]]:
    answer = client.get(f"{RUN}/{path}", params={"limit": 1000, **query})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["rows"]
    return found


def by_twin(board: list[dict[str, Any]], options: PlaceOptions) -> list[dict[str, Any]]:
    """The columns about places by their definitions, but the place itself, which is that by ``rating``."""
    players = [(row["handle"], row["mu"], row["sigma"], row["n_rounds"]) for row in board]
    found = table(players, options.z, options.min_rounds, options.max_sigma, options.rule)
    return [{name: value for name, value in found[row["handle"]].items() if name != "place"} for row in board]


def of_frame(board: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a leaderboard of the notebook; None for what is missing."""
    found = board.rename(columns={"player": "handle"}).astype(object)
    return found.where(found.notna(), None).to_dict("records")


# One publish


class _Cells(HTMLParser):
    """The texts of the cells of each row of the tables of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.feed(html[html.index("<table") :])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def shown(row: Mapping[str, Any], decimals: int) -> list[str]:
    """Place, player and rating of a row as a page shows them."""
    place = "–" if row["provisional"] else str(row["place"])
    place += f" ({row['place_high']}-{row['place_low']})" if row.get("place_high") else ""
    return [place, row["handle"], f"{row['rating']:.{decimals}f}" + "?" * row["provisional"]]


def assert_outputs_agree(lake: Lake, folder: Path, invoke: Command) -> list[dict[str, Any]]:
    """Command line, notebook, API, site and publishes of a run have the same rows; returns them."""
    publish(lake, "run")
    published = read(lake, "leaderboard").sort_by([("rating", "descending"), ("handle", "ascending")]).to_pylist()
    sure = any(row["place_high"] is not None for row in published)
    columns = ("place", "provisional", *(("place_high", "place_low", "tier") if sure else ()))
    board = [{name: row[name] for name in ("handle", "rating", "mu", "percentile", *columns)} for row in published]

    def same(found: list[dict[str, Any]]) -> None:
        assert [{name: row[name] for name in board[0]} for row in found] == board

    same(pq.read_table(Path(lake.url) / "published/run/latest.parquet").to_pylist())
    publish_to_database(lake, "run", f"sqlite:///{folder}/board.db")
    with closing(sqlite3.connect(folder / "board.db")) as database:
        database.row_factory = sqlite3.Row
        same([dict(row) for row in database.execute("select * from leaderboard order by rating desc, handle")])
    with client_of(lake) as client:
        same(found := rows(client))
        handles = [row["handle"] for row in found]
        same(client.get(f"{RUN}/players", params={"handles": ",".join(handles)}).json()["players"])
        same([client.get(f"{RUN}/players/{quote(handle)}").json() for handle in handles])
        pages = [client.get("/run?active=all", headers={"accept": "text/html"}).text]
        decimals = client.get(RUN).json()["decimals"]
    options = ("--run", "run", "--all", "--provisional", "show", "--format", "json", "--lake", lake.url)
    same(json.loads(invoke("leaderboard", *options).out))
    same(of_frame(Ratings.open(lake, "run").leaderboard(provisional="show")))
    publish_site(lake, "run", str(folder / "site"))
    (data,) = (folder / "site/data/leaderboard").glob("000-*.json.gz")
    site = json.loads(gzip.decompress(data.read_bytes()))
    none = [None] * len(board)
    for name in ("place", "place_high", "place_low"):
        assert site.get(name, none) == [row.get(name) for row in board]
    assert [text is not None for text in site.get("missing", none)] == [row["provisional"] for row in board]
    pages += [path.read_text("utf-8") for path in (folder / "site/v").glob("*/leaderboard/000.html")]
    assert len(pages) == 2
    everybody = [shown(row, decimals) for row in board]
    for page in pages:
        assert [cells[:3] for cells in _Cells(page).rows[1:]] == everybody
    first = _Cells((folder / "site/index.html").read_text("utf-8"))
    heads, *active = first.rows
    of_all = heads.index("Among all") if "Among all" in heads else 0
    assert all([cells[of_all], *cells[1:3]] in everybody for cells in active)
    component = {row["handle"]: row["component"] for row in published}
    for one in set(component.values()):  # each has its own places
        of_one = [cells[0] for cells in active if component[cells[1]] == one and cells[0] != "–"]
        numbers = [int(cell.partition(" ")[0]) for cell in of_one]
        assert numbers == sorted(numbers)
    assert numbers[0] == 1
    return published


@pytest.mark.slow
def test_outputs__of_one_publish_agree_row_by_row(lake: Lake, tmp_path: Path, invoke: Command) -> None:
    board = assert_outputs_agree(lake, tmp_path, invoke)
    kept = {name for row in by_twin(board, PlaceOptions(**STORED)) for name in row}
    assert [{name: row[name] for name in kept} for row in board] == by_twin(board, PlaceOptions(**STORED))
    ranked = [row["rating"] for row in board if not row["provisional"]]
    assert 0 < len(ranked) < len(board)
    for row in board:
        better, lower = (sum(other > row["rating"] for other in ranked), sum(other < row["rating"] for other in ranked))
        places = (None, None) if row["provisional"] else (better + 1, 100.0 * lower / (len(ranked) - 1))
        assert (row["place"], row["percentile"]) == places
    assert max(row["tier"] or 0 for row in board) > 2


@pytest.mark.slow
@pytest.mark.parametrize("system", ["elo-r", "glicko", "elo", "topcoder", "trueskill"])
@pytest.mark.parametrize("rule", ["separated", "own"])
def test_outputs__of_every_kind_of_system_agree(system: str, rule: str, tmp_path: Path, invoke: Command) -> None:
    sure = bool(SYSTEMS[system].uncertainty)
    places = {"min_rounds": 4} | ({"rule": rule, "interval": 0.6} if sure else {})
    board = assert_outputs_agree(rated(tmp_path / "lake", system, places), tmp_path, invoke)
    assert any(row["place_high"] is not None for row in board) is sure
    factor = SYSTEMS[system].uncertainty
    found = by_twin([row | {"sigma": row["sigma"] * factor} for row in board], PlaceOptions(**places))
    if not sure:
        found = [row | dict.fromkeys(("place_high", "place_low", "tier")) for row in found]
    assert [{name: row[name] for name in found[0]} for row in board] == found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* never met:UserWarning")
def test_outputs__of_players_who_never_met_agree(tmp_path: Path, invoke: Command) -> None:
    others = [
        replace(one, contest_id=f"b{i}", handles=pa.array([f"b {name}" for name in one.handles.to_pylist()]))
        for i, one in enumerate(synthetic(12, seed=3, spice=False, n_players=9, size=5))
    ]
    board = assert_outputs_agree(rated(tmp_path / "lake", "glicko", STORED, [*CONTESTS, *others]), tmp_path, invoke)
    best = [row["handle"][:2] for row in board if row["place"] == 1]
    assert sorted(best) == ["b ", "pl"]


# The API


@pytest.mark.parametrize(
    "given",
    [{}, {"interval": 0.9}, {"places": "own"}, {"min_rounds": 0, "max_sigma": 1e9}, {"interval": 0.2, "min_rounds": 5}],
    ids=str,
)
def test_api__computes_other_places(client: TestClient, given: dict[str, Any]) -> None:
    options = PlaceOptions(**STORED).changed(**{"rule" if name == "places" else name: given[name] for name in given})
    board = rows(client, **given)
    assert [{name: row[name] for name in ("provisional", "place_high", "place_low", "tier")} for row in board] == [
        {name: row[name] for name in ("provisional", "place_high", "place_low", "tier")}
        for row in by_twin(board, options)
    ]
    for row in (board[0], board[-1]):
        one = client.get(f"{RUN}/players/{quote(row['handle'])}", params=given).json()
        assert {name: one[name] for name in row} == row
        (other,) = client.get(f"{RUN}/players", params={"handles": row["handle"], **given}).json()["players"]
        assert {name: other[name] for name in row} == row


def test_api__shows_hides_and_lists_provisional_players(client: TestClient) -> None:
    board = rows(client)
    (few, *_) = only = [row for row in board if row["provisional"]]
    (first, *_) = ranked = [row for row in board if not row["provisional"]]
    assert (rows(client, provisional="only"), rows(client, provisional="hide")) == (only, ranked)
    assert rows(client, provisional="hide", order="mu") == sorted(ranked, key=lambda row: -row["mu"])
    facts = client.get(RUN).json()
    assert facts["n_provisional"] == len(only)
    assert facts["places"] == {"rule": "separated", **STORED}
    for provisional, row, other in (("hide", first, few), ("only", few, first)):
        query = {"provisional": provisional}
        assert client.get(f"{RUN}/players/{quote(row['handle'])}", params=query).json()["rating"] == row["rating"]
        answer = client.get(f"{RUN}/players/{quote(other['handle'])}", params=query)
        assert (answer.status_code, answer.json()["status"]) == (404, 404)
        handles = f"{first['handle']},{few['handle']}"
        players = client.get(f"{RUN}/players", params={"handles": handles, **query}).json()["players"]
        assert [player["handle"] for player in players] == [row["handle"]]
    distribution = client.get(f"{RUN}/distribution", params={"handle": few["handle"]}).json()
    assert (distribution["n_players"], distribution["player"]["percentile"]) == (len(ranked), None)
    distribution = client.get(f"{RUN}/distribution", params={"handle": first["handle"]}).json()
    assert distribution["player"]["percentile"] == pytest.approx(first["percentile"], rel=1e-12)
    assert client.get(f"{RUN}/count").json()["count"] == len(ranked)


def test_api__of_a_day_has_the_rounds_and_beliefs_of_then(client: TestClient, lake: Lake, invoke: Command) -> None:
    day = datetime.fromtimestamp(CONTESTS[5].time_seconds, UTC).isoformat()
    board = rows(client, at=day)
    assert [row["n_rounds"] for row in board] != [row["n_rounds"] for row in rows(client)][: len(board)]
    for given in ({}, {"interval": 0.9, "min_rounds": 2}):
        found = rows(client, at=day, **given)
        expected = by_twin(board, PlaceOptions(**STORED).changed(**given))
        assert [{name: row[name] for name in expected[0]} for row in found] == expected
    options = ("--run", "run", "--all", "--provisional", "show", "--format", "json", "--at", day, "--lake", lake.url)
    assert board == [{name: row[name] for name in board[0]} for row in json.loads(invoke("leaderboard", *options).out)]


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "interval": ["0", "1", "-0.5", "1.5", "nan", "inf", "", "95%"],
        "places": ["", "Own", "separate"],
        "min_rounds": ["-1", "1.5", "nan", "9999999999"],
        "max_sigma": ["0", "-1", "nan", "inf", "x"],
        "provisional": ["", "yes", "true"],
    }.items(),
)
def test_api__refuses_values_beyond_their_limits(client: TestClient, name: str, values: list[str]) -> None:
    for value in values:
        for path in ("leaderboard", "players/player%201", "players?handles=player%201"):
            answer = client.get(f"{RUN}/{path}{'&' if '?' in path else '?'}{name}={quote(value)}")
            assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
            assert (answer.json()["parameter"], answer.json()["value"]) == (name, value)


def test_api__of_a_system_without_uncertainty_has_no_intervals(client: TestClient) -> None:
    path = "/api/v1/runs/elo/leaderboard"
    board = client.get(path).json()["rows"]
    assert not {"place_high", "place_low", "tier"} & board[0].keys()
    assert client.get("/api/v1/runs/elo/players/player%201").json().keys() >= board[0].keys()
    assert "(" not in _Cells(client.get("/elo", headers={"accept": "text/html"}).text).rows[1][0]
    few = client.get(path, params={"min_rounds": 5}).json()["rows"]
    assert [row["provisional"] for row in few] == [row["n_rounds"] < 5 for row in board]
    for name, value in (("interval", 0.9), ("places", "own"), ("max_sigma", 100)):
        answer = client.get(path, params={name: value})
        assert answer.status_code == 400
        assert "which elo has not; elo-mmr, " in answer.json()["detail"]
        assert answer.json()["parameter"] == name


# Pages


def test_pages__name_the_rule_and_what_is_missing(client: TestClient, lake: Lake) -> None:
    def text(path: str) -> str:
        return re.sub(r"<[^>]*>", "", client.get(path, headers={"accept": "text/html"}).text)

    board = text("/run")
    assert "players whose μ ± 0.674 σ overlap are not told apart (rule separated, 50 %)." in board
    assert "? is provisional: fewer than 3 rounds or σ above 320." in board
    (few, *_) = rows(client, provisional="only")
    lacks = 3 - few["n_rounds"]
    assert f"provisional: {lacks} more round{'s' * (lacks > 1)}" in text(f"/run/p/{quote(few['handle'])}")
    assert f">{few['rating']:.0f}?" in client.get(f"/run/p/{quote(few['handle'])}/badge.svg").text
    assert "rule" not in text("/elo")
