"""Previews of contests of teams: the ratings of the ingested contest, to the bit, and places of teams."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.lakes import ingest, lake_of, rate_run, rated, synthetic

from ranklake import preview, rate_history
from ranklake.flows.preview.run_preview import RunPreview
from ranklake.flows.preview.standings import standings_from_file
from ranklake.flows.results.titles import Title, Titles
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
    table = RunPreview.open(lake, system).preview(standings_from_file(file)).table().to_pandas().set_index("handle")
    ingest(lake, read_contests(file.parent))
    rate_run(lake, run=system, system=system)
    rows = rated(lake, system).to_pandas()
    after = rows[rows["contest_id"] == "999"].set_index("player")
    for name in ("perf", "mu_prior", "sigma_prior", "mu", "sigma"):
        assert table[name].tolist() == after[name].tolist()
    assert table["place"].tolist() == [1, 1, 2, 2, 2, 2, 4]
    expected = table["expected_place"]
    assert expected["player 1"] == expected["player 2"]
    assert expected[["player 1", "player 3", "player 4", "player 6"]].sum() == pytest.approx(10.0)
    assert table["team"].fillna("").tolist() == ["red", "red", "", "blue", "blue", "blue", "solo"]


def test_preview__of_unplaced_entrants_beside_teams(lake: Lake, file: Path) -> None:
    standings = standings_from_file(file, entrants=["player 1", "player 7", "player 8"])
    table = RunPreview.open(lake, "run").preview(standings).table().to_pandas().set_index("handle")
    assert table["place"].isna().tolist() == [False] * 7 + [True] * 2
    entrants = ["player 1", "player 3", "player 4", "player 6", "player 7", "player 8"]
    assert table["expected_place"][entrants].sum() == pytest.approx(21.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "hyperparameters"), [("elo-mmr", {}), ("elo-mmx", {"team_noise": "members"}), ("bar", {})]
)
def test_needed_places__of_members_are_those_of_all_rounds(
    system: str, hyperparameters: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member needs the worst place of its team, alone at it, after which a rating of all these rounds is enough."""
    names, sizes = [f"player {i}" for i in range(9)], [3, 1, 2, 2, 1]
    lo = [0, 1, 1, 3, 4]
    order = pd.DataFrame({"player": names, "team": np.repeat(list("abcde"), sizes), "rank": np.repeat(lo, sizes) + 1})
    before = {name: 1300.0 + 70.0 * i for i, name in enumerate(names)}
    titles = Titles(
        "all", tuple(Title(str(low), low, "#123456") for low in (-math.inf, *np.arange(1000.0, 3000.0, 25.0).tolist()))
    )

    def rated(standings: pd.DataFrame) -> pd.DataFrame:
        how = {"columns": {"team": "team"}, "system": system, "titles": titles, "deviations": 0.0}
        return preview(before, standings, **how, **hyperparameters).set_index("player")

    table = rated(order)
    monkeypatch.setattr("ranklake.flows.preview.needed._ROWS", 20)  # in parts
    pd.testing.assert_frame_equal(rated(order), table)
    monkeypatch.undo()
    for player in names:
        goal, team = float(table.loc[player, "next_title"]), order.loc[order.player == player, "team"].iloc[0]
        enough = []
        for other in [*order.loc[order.team != team, "rank"].unique(), 99]:
            moved = order.assign(rank=order["rank"].where(order.team != team, other - 0.5))
            found = rated(moved).loc[player]
            enough += [int(found["place"])] if found["rating"] >= goal else []
        needed = table.loc[player, "next_title_place"]
        assert (max(enough) if enough else None) == (None if pd.isna(needed) else needed), player
        assert 0.0 <= table.loc[player, "next_title_chance"] <= 1.0


def test_needed_places__of_more_than_100_members_are_unknown() -> None:
    names = [f"player {i}" for i in range(102)]
    order = pd.DataFrame({"player": names, "team": np.arange(102) // 2, "rank": np.arange(102) // 2 + 1})
    table = preview(None, order, columns={"team": "team"}, titles="codeforces")
    assert table["next_title"].notna().all()
    assert table[["next_title_place", "next_title_chance"]].isna().all(axis=None)


def test_frame__with_teams_and_shares_is_the_rating_of_the_history() -> None:
    order = pd.DataFrame(
        {"player": [1, 2, 3, 4, 5], "team": [7, 7, None, 8, 8], "rank": [2, 2, 1, 3, 3], "hours": [1, 3, None, 2, 2]}
    )
    columns = {"team": "team", "share": "hours"}
    history = rate_history(order.assign(contest="x"), columns=columns).set_index("player")
    table = preview(None, order, columns=columns, entrants=[9])
    assert table["team"].tolist()[1:5] == [7, 7, 8, 8]
    assert table["team"].isna().tolist() == [True, *[False] * 4, True]
    assert table["player"].tolist() == [3, 1, 2, 4, 5, 9]
    alone = preview(None, order, columns=columns).set_index("player")
    assert alone["mu"].tolist() == history["mu"].reindex(alone.index).tolist()
    assert alone["place"].tolist() == [1, 2, 2, 3, 3]
    with pytest.raises(ValueError, match="differs inside team"):
        preview(None, order.assign(rank=range(1, 6)), columns={"team": "team"})
    with pytest.raises(ValueError, match="name the column of the teams, too"):
        preview(None, order, columns={"share": "hours"})


def test_command__previews_a_roster_and_names_what_a_system_lacks(invoke: Command, lake: Lake, file: Path) -> None:
    rows = json.loads(invoke("preview", "--run", "run", file, "--format", "json", "--lake", lake.url).out)
    assert [(row["team"], row["handle"]) for row in rows][:2] == [("red", "player 1"), ("red", "player 2")]
    assert [len(row) for row in rows] == [17] * 7
    text = invoke("preview", "--run", "run", file, "--lake", lake.url).out
    assert " team " in text
    assert "blue" in text
    rate_run(lake, run="elo", system="elo")
    message = invoke.refuses("preview", "--run", "elo", file, "--lake", lake.url, code=2)
    assert "elo has no rule for rounds of teams" in message
