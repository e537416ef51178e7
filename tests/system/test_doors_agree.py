"""All doors say the same of a pair of players: commands, notebook, API and page; over systems and kinds of data."""

from __future__ import annotations

import json
import math
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import Command
from helpers.games import as_periods, ingest_periods, league
from helpers.lakes import lake_of, rate_run, synthetic

from ranklake import Ratings
from ranklake.flows.common.text import percent
from ranklake.flows.publication.publish import publish
from ranklake.rating_kernels import SYSTEMS
from ranklake.storage import Lake

pytest.importorskip("starlette")
from helpers.api import client_of

PAIR = {"contests": ("player 1", "player 2"), "games": ("p1", "p2")}
SKILL = ("difference", "deviation", "skill_chance")
CASES = [
    *((name, "contests") for name, system in SYSTEMS.items() if not system.periods),
    *((name, "games") for name in ("elo", "glicko", "trueskill", "elo-mmr", "elo-mms", "elo-r", "bar")),
]
OWN_STATE = ("glicko2", "elo-mms")  # a published comparison knows no volatility, and no state that players share


def lake_with(path: Path, data: str, system: str) -> Lake:
    if data == "contests":
        lake = lake_of(path, synthetic(9, n_players=12, spice=False))
        rate_run(lake, system=system)
    else:
        lake = Lake.open(path, create=True)
        ingest_periods(lake, as_periods(league(60, n_players=6)))
        rate_run(lake, dataset="league", system=system)
    return lake


def cells(page: str) -> list[str]:
    """The cells of the row of the pair."""
    row = re.search(r'<table class="pairs">.*<tbody>\s*<tr>(.*?)</tbody>', page, re.DOTALL)
    assert row is not None
    texts = (re.sub(r"<[^>]*>", "", cell) for cell in row[1].split("<td")[1:])
    return [unescape(text.partition(">")[2] if ">" in text else text).strip() for text in texts]


def check_pair(lake: Lake, data: str, system: str, invoke: Command) -> dict[str, Any]:
    """What the doors say of the pair, which is one thing."""
    at = ("--run", "run", "--lake", lake.url)
    one, other = PAIR[data]
    unpublished = json.loads(invoke("compare", one, other, *at, "--format", "json").out)
    publish(lake, "run")
    answer = json.loads(invoke("compare", one, other, *at, "--format", "json").out)
    assert answer == unpublished
    (pair,) = answer["pairs"]
    with client_of(lake) as client:
        (served,) = client.get("/api/v1/runs/run/compare", params={"handles": f"{one},{other}"}).json()["pairs"]
        shown = cells(client.get("/run/compare", params={"h": f"{one},{other}"}).text)
    assert served == pair
    numbers = {name: value for name, value in pair.items() if isinstance(value, float)}
    ratings = Ratings.open(lake, "run")
    (noted,) = ratings.compare([one, other]).to_dict("records")
    rows = json.loads(invoke("predict", one, other, *at, "--format", "json").out)
    (first,) = (row for row in rows if row["handle"] == one)
    (listed,) = (
        row
        for row in json.loads(invoke("predict", one, other, *at, "--pairs", "--format", "json").out)
        if row["handle"] == one
    )
    for name, value in numbers.items():
        tolerance = 1e-3 if name == "chance" and system in OWN_STATE else 0.0
        for door in (noted, first, listed):
            assert door[name] == pytest.approx(value, rel=0.0, abs=tolerance), name
    assert noted["chance"] == first["chance"] == listed["chance"] == ratings.predict([one, other]).chance(one, other)
    assert f"{min(max(round(pair['chance'] * 100), 1), 99)} %" in shown
    if SYSTEMS[system].uncertainty:
        assert tuple(ratings.predict([one, other]).difference(one, other)) == tuple(pair[name] for name in SKILL)
        assert percent(pair["skill_chance"]) in shown
        assert any(re.match(rf"[+-]\d.* ± {pair['deviation']:.0f}", cell) for cell in shown) or system == "trueskill"
    else:
        assert not set(SKILL) & set(pair) | set(SKILL) & set(first)
        with pytest.raises(ValueError, match=rf"needs the uncertainty of skills, which {system} has not; elo-mmr,"):
            ratings.predict([one, other]).difference(one, other)
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


@pytest.mark.slow
@pytest.mark.parametrize(("system", "data"), CASES)
def test_pair__has_the_same_numbers_for_every_system(tmp_path: Path, invoke: Command, system: str, data: str) -> None:
    check_pair(lake_with(tmp_path / "lake", data, system), data, system, invoke)
