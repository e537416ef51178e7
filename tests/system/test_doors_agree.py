"""All doors say the same of a pair of players: commands, notebook, API and page; over systems and kinds of data."""

from __future__ import annotations

import json
import math
import re
from html import escape, unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.commands import Command
from helpers.games import as_contests, as_periods, ingest_periods, league
from helpers.lakes import lake_of, rate_run, synthetic

from ranklake import Ratings
from ranklake.flows.common.text import percent
from ranklake.flows.publication.publish import publish
from ranklake.rating_kernels import SYSTEMS
from ranklake.storage import Lake, Run
from ranklake.storage.runs.chances import chances_path, read_chances

pytest.importorskip("starlette")
from helpers.api import client_of

PAIR = {"contests": ("player 1", "player 2"), "games": ("p1", "p2"), "duels": ("p1", "p2")}
COMPARE = "/api/v1/runs/run/compare"
GAME = ("win", "draw", "loss", "expected")
SKILL = ("difference", "deviation", "skill_chance")
CASES = [
    *((name, "contests") for name, system in SYSTEMS.items() if not system.periods),
    ("glicko", "duels"),
    *((name, "games") for name in ("elo", "glicko", "trueskill", "elo-mmr", "elo-mms", "elo-r", "bar")),
]
OWN_STATE = ("glicko2", "elo-mms")  # a published comparison knows no volatility, and no state that players share


def lake_with(path: Path, data: str, system: str) -> Lake:
    if data == "contests":
        lake = lake_of(path, synthetic(9, n_players=12, spice=False))
        rate_run(lake, system=system)
    elif data == "duels":  # contests of two
        lake = lake_of(path, as_contests(league(60, n_players=6)))
        rate_run(lake, system=system)
    else:
        lake = Lake.open(path, create=True)
        ingest_periods(lake, as_periods(league(60, n_players=6)))
        rate_run(lake, dataset="league", system=system)
    return lake


def cells(page: str, table: str) -> list[str]:
    """The cells of the first row of a table, without what is small in them; none without the table."""
    row = re.search(rf'<table class="{table}">.*?<tbody>\s*<tr>(.*?)(?:<tr>|</tbody>)', page, re.DOTALL)
    parts = (cell.partition(">")[2].partition("<small>")[0] for cell in row[1].split("<td")[1:]) if row else ()
    return [unescape(re.sub(r"<[^>]*>", "", part)).strip() for part in parts]


def check_pair(lake: Lake, data: str, system: str, invoke: Command) -> dict[str, Any]:
    """What the doors say of the pair on neutral ground, which is one thing."""
    at = ("--run", "run", "--lake", lake.url)
    one, other = PAIR[data]

    def asked(command: str, *options: str) -> Any:
        found = invoke(command, one, other, *at, *options, "--format", "json")
        assert found.err == ""
        return json.loads(found.out)

    unpublished = asked("compare")
    publish(lake, "run")
    answer = asked("compare")
    assert answer == unpublished
    (pair,) = answer["pairs"]
    with client_of(lake) as client:
        served = client.get(COMPARE, params={"handles": f"{one},{other}"}).json()
        at_home = client.get(COMPARE, params={"handles": f"{one},{other}", "neutral": "false"}).json()
        page = client.get("/run/compare", params={"h": f"{one},{other}"}).text
        facts = client.get("/api/v1/runs/run").json()["chances"]
    assert served["pairs"] == answer["pairs"]
    assert served.get("games") == answer.get("games")
    ratings = Ratings.open(lake, "run")
    (noted,) = ratings.compare([one, other]).to_dict("records")
    of_games = data != "contests"
    rows = asked("predict", *(["--neutral"] if of_games else []))
    (first,) = (row for row in rows if row["handle"] == one)
    listed = asked("predict", "--pairs", *(["--neutral"] if of_games else []))
    for name, value in pair.items():
        if isinstance(value, float):
            tolerance = 1e-3 if name not in SKILL and system in OWN_STATE else 0.0
            for door in (noted, first, next(row for row in listed if row["handle"] == one)):
                assert door[name] == pytest.approx(value, rel=0.0, abs=tolerance), name
    prediction = ratings.predict([one, other])
    assert noted["chance"] == first["chance"] == prediction.chance(one, other)
    assert f"{min(max(round(pair['chance'] * 100), 1), 99)} %" == cells(page, "matrix")[1]
    shown = cells(page, "pairs")
    if SYSTEMS[system].uncertainty:
        assert tuple(prediction.difference(one, other)) == tuple(pair[name] for name in SKILL)
        decimals = 2 if system == "trueskill" else 0
        assert f"{pair['difference']:+.{decimals}f} ± {pair['deviation']:.{decimals}f}" in shown
        assert percent(pair["skill_chance"]) in shown
    else:
        assert not set(SKILL) & (set(pair) | set(first))
        with pytest.raises(ValueError, match=rf"needs the uncertainty of skills, which {system} has not; elo-mmr,"):
            prediction.difference(one, other)
    if not of_games:
        assert not set(GAME) & (set(pair) | set(first) | set(noted)) | set(served) & {"games"}
        assert facts is None
        with pytest.raises(ValueError, match="three chances are of games between two"):
            prediction.three_way(one, other)
        return pair
    assert tuple(noted[name] for name in GAME) == tuple(prediction.three_way(one, other, neutral=True))
    assert shown[1:4] == [percent(pair[name]) for name in GAME[:3]]
    assert {name: value for name, value in served["games"].items() if name != "neutral"} == facts
    # with the advantage of the first player
    assert at_home["pairs"] == asked("compare", "--home")["pairs"]
    for number, handle in enumerate((one, other)):
        home = at_home["pairs"][number]
        assert (home["handle"], home["advantage"]) == (handle, facts["advantage"])
        against = home["against"]
        three = prediction.three_way(handle, against)
        by_notebook = ratings.compare([one, other], neutral=False).to_dict("records")[number]
        same = 1e-3 if system in OWN_STATE else 1e-15  # arrays of another length
        assert tuple(home[name] for name in GAME) == pytest.approx(tuple(three), rel=0.0, abs=same)
        assert tuple(by_notebook[name] for name in GAME) == pytest.approx(tuple(three), rel=0.0, abs=1e-15)
    rows = {row["handle"]: row for row in asked("predict")}
    three = prediction.three_way(one, other)
    assert tuple(rows[one][name] for name in GAME) == pytest.approx(tuple(three), rel=0.0, abs=1e-15)
    assert [rows[other][name] for name in ("loss", "draw", "win")] == [rows[one][name] for name in GAME[:3]]
    assert rows[one]["advantage"] == -rows[other]["advantage"] == facts["advantage"]
    lines = invoke("predict", one, other, *at).out
    assert (
        f"win {three.win:.3f}  draw {three.draw:.3f}  loss {three.loss:.3f}  expected {three.expected:.3f}\n" in lines
    )
    return pair


@pytest.mark.parametrize(("system", "data"), [("glicko", "games")])
def test_pair__has_the_same_numbers_at_every_door(tmp_path: Path, invoke: Command, system: str, data: str) -> None:
    pair = check_pair(lake_with(tmp_path / "lake", data, system), data, system, invoke)
    beliefs = Ratings.open(tmp_path / "lake", "run").beliefs.loc[list(PAIR[data])]
    (mu, sigma), (other_mu, other_sigma) = beliefs[["mu", "sigma"]].to_numpy().tolist()
    deviation = SYSTEMS[system].uncertainty * math.sqrt(sigma**2 + other_sigma**2)
    z = (mu - other_mu) / deviation
    expected = (mu - other_mu, deviation, 0.5 * math.erfc(-z / math.sqrt(2.0)))
    assert tuple(pair[name] for name in SKILL) == pytest.approx(expected, rel=1e-12)
    assert pair["expected"] == pair["chance"] == pytest.approx(pair["win"] + 0.5 * pair["draw"], rel=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(("system", "data"), CASES)
def test_pair__has_the_same_numbers_for_every_system(tmp_path: Path, invoke: Command, system: str, data: str) -> None:
    check_pair(lake_with(tmp_path / "lake", data, system), data, system, invoke)


@pytest.mark.slow
def test_run_rated_before__is_fitted_now_and_says_so(tmp_path: Path, invoke: Command) -> None:
    lake = lake_with(tmp_path / "lake", "games", "elo")
    at = (*PAIR["games"], "--run", "run", "--lake", lake.url)
    stored = invoke("predict", *at)
    run = Run.open(lake, "run")
    lake.delete(chances_path(run))
    for command in ("predict", "compare"):
        found = invoke(command, *at)
        assert found.err == (
            "run run was rated before chances were stored: draws and advantages were fitted now, to 60 games; "
            "`ranklake rate --run run` stores them\n"
        )
        assert "from 60 games" in found.out
    with pytest.warns(UserWarning, match="were fitted now, to 60 games"):
        Ratings.open(lake, "run").predict(PAIR["games"]).three_way(*PAIR["games"])
    published = invoke("publish", "--run", "run", "--lake", lake.url)
    assert "; run run was rated before chances were stored: " in published.out
    assert invoke("rate", "--run", "run", "--lake", lake.url).code == 0
    assert invoke("predict", *at) == stored
    assert "were fitted now" not in invoke("publish", "--run", "run", "--lake", lake.url).out
    ratings = Ratings.open(lake, "run")
    three, learnt = ratings.predict(PAIR["games"]).three_way(*PAIR["games"]), read_chances(run).fits[-1].overall
    one, other = ratings.beliefs["mu"].loc[list(PAIR["games"])]
    expected = 1.0 / (1.0 + 10.0 ** (-(one - other + learnt.advantage) / 400.0))
    assert three.expected == pytest.approx(expected, rel=1e-12)
    assert three.win + 0.5 * three.draw == pytest.approx(expected, rel=1e-12)
    assert three.draw == pytest.approx(learnt.nu * math.sqrt(three.win * three.loss), rel=1e-12)


@pytest.mark.slow
def test_values_of_a_column__have_chances_of_their_own(tmp_path: Path, invoke: Command) -> None:
    rows = [f"{white},{black},{score},{time},{'cup' if number % 3 else 'league'}"
            for number, (white, black, score, time, *_) in enumerate(league(240, n_players=6))]  # fmt: skip
    (tmp_path / "games.csv").write_text("white,black,score,time,event\n" + "\n".join(rows))
    at = ("--lake", tmp_path / "lake")
    assert invoke("ingest", "games", tmp_path / "games.csv", "--keep", "event", "--dataset", "league", *at).code == 0
    chosen = ("--chances-by", "event", "--no-advantage", "cup")
    assert invoke("rate", "--dataset", "league", "--run", "run", "--system", "elo", *chosen, *at).code == 0
    of_run = (*PAIR["games"], "--run", "run", *at)
    out = {value: invoke("predict", *of_run, "--chances-of", value).out for value in ("league", "cup")}
    lines = {value: re.search(r"^nu .*$", text, re.MULTILINE) for value, text in out.items()}
    assert re.fullmatch(r"nu 0\.\d\d \+- 0\.\d\d, advantage -?\d+ \+- \d+ points to the first, from \d+ games",
                        str(lines["league"] and lines["league"][0]))  # fmt: skip
    assert re.fullmatch(r"nu 0\.\d\d \+- 0\.\d\d, from \d+ games", str(lines["cup"] and lines["cup"][0]))
    other = invoke("predict", *of_run, "--chances-of", "leagues")
    why = "no draws and no advantage are learnt of event 'leagues': those of all games; did you mean 'league'?\n"
    assert other.err == why
    assert "win" in other.out
    publish(Lake.open(tmp_path / "lake"), "run")
    with client_of(Lake.open(tmp_path / "lake")) as client:
        facts = client.get("/api/v1/runs/run").json()["chances"]
        assert (facts["by"], facts["values"]["cup"]["advantage"]) == ("event", 0.0)
        asked = {"handles": ",".join(PAIR["games"]), "neutral": "false", "chances_of": "league"}
        found = client.get(COMPARE, params=asked).json()
    assert {name: found["games"][name] for name in ("nu", "advantage")} == {
        name: facts["values"]["league"][name] for name in ("nu", "advantage")
    }


@pytest.mark.slow
def test_values__are_refused_where_nothing_is_learnt(tmp_path: Path, invoke: Command) -> None:
    lake = lake_with(tmp_path / "lake", "games", "elo")
    publish(lake, "run")
    at = (*PAIR["games"], "--run", "run", "--lake", lake.url)
    rule = "run run has learnt of all games together, not of 'cup' alone; `ranklake rate --run run --chances-by COLUMN`"
    for command in ("predict", "compare"):
        assert rule in invoke.refuses(command, *at, "--chances-of", "cup", code=2)
    with client_of(lake) as client:
        asked = {"handles": "p1,p2", "chances_of": "cup"}
        answer = client.get(COMPARE, params=asked)
        assert (answer.status_code, answer.json()["parameter"]) == (400, "chances_of")
        assert client.get(COMPARE, params={"handles": "p1,p2", "neutral": "yes"}).status_code == 400
    prediction = Ratings.open(lake, "run").predict(PAIR["games"], chances_of="cup")
    with pytest.raises(ValueError, match="not of 'cup' alone"):
        prediction.three_way(*PAIR["games"])
    prediction = Ratings.open(lake, "run").predict(PAIR["games"])
    contests = lake_with(tmp_path / "contests", "contests", "elo-mmr")
    of_contests = (*PAIR["contests"], "--run", "run", "--lake", contests.url)
    assert "three participants or more" in invoke.refuses("compare", *of_contests, "--home", code=2)
    with pytest.raises(ValueError, match="got 'p1' twice"):
        prediction.three_way("p1", "p1")
    assert "give at least two players" in invoke.refuses("compare", "p1", "p1", *at[2:], code=2)
    assert invoke("alias", "--dataset", "league", "p1", "renamed", "--lake", lake.url).code == 0
    assert invoke("rate", "--run", "run", "--lake", lake.url).code == 0
    assert "these are names of one player, 'renamed'" in invoke.refuses("compare", "p1", "renamed", *at[2:], code=2)
    assert "a game between two entrants" in invoke.refuses("predict", *of_contests, "--neutral", code=2)


def test_preview__of_a_game_has_its_chances_on_neutral_ground(tmp_path: Path, invoke: Command) -> None:
    lake = lake_with(tmp_path / "lake", "games", "elo")
    one, other = PAIR["games"]
    (tmp_path / "game.csv").write_text(f"rank,player\n1,{one}\n2,{other}\n")
    at = ("--run", "run", "--lake", lake.url)
    rows = json.loads(invoke("preview", tmp_path / "game.csv", *at, "--format", "json").out)
    ratings = Ratings.open(lake, "run")
    for row, (player, against) in zip(rows, ((one, other), (other, one)), strict=True):
        three = ratings.predict([player, against]).three_way(player, against, neutral=True)
        assert [row[name] for name in GAME[:3]] == pytest.approx(three[:3], rel=0.0, abs=1e-15)
    noted = ratings.preview(pd.DataFrame({"player": [one, other], "rank": [1, 2]}))
    assert noted[["win", "draw", "loss"]].to_numpy().tolist() == [[row[name] for name in GAME[:3]] for row in rows]
    assert percent(rows[0]["win"]) in invoke("preview", tmp_path / "game.csv", *at).out
    publish(lake, "run")
    with client_of(lake) as client:
        body = {"standings": [[one, 1], [other, 2]]}
        served = client.post("/api/v1/runs/run/preview", json=body).json()["rows"]
        page = client.post("/run/preview", data={"standings": f"1 {one}\n2 {other}"}).text
    assert [[row[name] for name in GAME[:3]] for row in served] == [[row[name] for name in GAME[:3]] for row in rows]
    assert "".join(f"<td>{escape(percent(rows[0][name]))}" for name in GAME[:3]) in page
    (tmp_path / "three.csv").write_text(f"rank,player\n1,{one}\n2,{other}\n3,p3\n")
    assert "win" not in json.loads(invoke("preview", tmp_path / "three.csv", *at, "--format", "json").out)[0]
