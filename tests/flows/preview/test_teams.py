"""Previews of contests of teams: the ratings of the ingested contest, to the bit, and places of teams."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.commands import Command
from helpers.lakes import ingest, lake_of, rate_run, rated, synthetic

from ranklake.flows.preview.reading import standings_from_file
from ranklake.flows.preview.run_preview import RunPreview
from ranklake.flows.sources.files.contests import read_contests
from ranklake.storage import Lake

STANDINGS = [
    ["red", 0, 0, ["player 1", "player 2"], [2, 1]],
    ["player 3", 1, 2],
    ["blue", 1, 2, ["player 4", "somebody new", "player 5"]],
    ["solo", 3, 3, ["player 6"]],
]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = lake_of(tmp_path / "lake", synthetic(20))
    rate_run(lake)
    return lake


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "set" / "999.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"name": "Finals", "time_seconds": 100_000_000, "standings": STANDINGS}))
    return path


@pytest.mark.parametrize("system", ["elo-mmr", "elo-mmx"])
def test_preview__of_teams_is_the_rating_after_the_contest(lake: Lake, file: Path, system: str) -> None:
    rate_run(lake, run=system, system=system)
    preview = RunPreview.open(lake, system).preview(standings_from_file(file)).table().to_pandas().set_index("handle")
    ingest(lake, read_contests(file.parent))
    rate_run(lake, run=system, system=system)
    rows = rated(lake, system).to_pandas()
    after = rows[rows["contest_id"] == "999"].set_index("player")
    for name in ("perf", "mu_prior", "sigma_prior", "mu", "sigma"):
        assert preview[name].tolist() == after[name].tolist()
    assert preview["place"].tolist() == [1, 1, 2, 2, 2, 2, 4]
    expected = preview["expected_place"]
    assert expected["player 1"] == expected["player 2"]
    assert expected[["player 1", "player 3", "player 4", "player 6"]].sum() == pytest.approx(10.0)
    assert preview["next_title_place"].isna().all()


def test_preview__of_unplaced_entrants_beside_teams(lake: Lake, file: Path) -> None:
    standings = standings_from_file(file, entrants=["player 1", "player 7", "player 8"])
    table = RunPreview.open(lake, "run").preview(standings).table().to_pandas().set_index("handle")
    assert table["place"].isna().tolist() == [False] * 7 + [True] * 2
    entrants = ["player 1", "player 3", "player 4", "player 6", "player 7", "player 8"]
    assert table["expected_place"][entrants].sum() == pytest.approx(21.0)


def test_command__previews_a_roster_and_names_what_a_system_lacks(invoke: Command, lake: Lake, file: Path) -> None:
    rows = json.loads(invoke("preview", "--run", "run", file, "--format", "json", "--lake", lake.url).out)
    assert [row["handle"] for row in rows][:2] == ["player 1", "player 2"]
    rate_run(lake, run="elo", system="elo")
    message = invoke.refuses("preview", "--run", "elo", file, "--lake", lake.url, code=2)
    assert "elo has no rule for rounds of teams" in message
