"""Teams in the published ratings: the team of each member as the data set has it, null for individuals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers.commands import Command
from helpers.lakes import lake_of, often, rate_run, synthetic
from helpers.tables import assert_published, read
from helpers.teams import draw_team_contests, team_contests

from ranklake.flows.maintenance.verify import Verifier
from ranklake.flows.publication.export import export_rows
from ranklake.flows.publication.publish import publish
from ranklake.storage import Dataset, Lake
from ranklake.storage.datasets.round_teams import RoundTeams

OFTEN = often(segment_rows=20)

HISTORY = draw_team_contests(5, 20, 8)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake with a run of team contests between contests of individuals."""
    alone = [one for one in synthetic(30, n_players=20) if int(one.contest_id) > 20]
    lake = lake_of(tmp_path / "lake", [*alone[:4], *team_contests(HISTORY), *alone[4:]])
    rate_run(lake, policy=OFTEN)
    return lake


def published(lake: Lake) -> dict[tuple[str, str], str | None]:
    columns = read(lake, "ratings").select(["contest_id", "handle", "team"]).to_pydict()
    return {(one, player): team for one, player, team in zip(*columns.values(), strict=True)}


def test_publish__has_the_team_of_each_member(lake: Lake) -> None:
    publish(lake, "run")
    teams = {
        (str(number), f"p{member}"): f"team {at}"
        for number, (standings, *_) in enumerate(HISTORY)
        for at, row in enumerate(standings)
        for member in row[2]
    }
    found = published(lake)
    assert {key: team for key, team in found.items() if team is not None} == teams
    assert sum(team is None for team in found.values()) > 20
    assert_published(lake)
    assert list(Verifier(lake).everything()) == []
    rows = pa.Table.from_batches(list(export_rows(lake, "run", "ratings")))
    assert sum(team is not None for team in rows.column("team").to_pylist()) == len(teams)


@pytest.mark.slow
def test_publish__after_a_correction_has_the_new_teams(lake: Lake) -> None:
    publish(lake, "run")
    member = HISTORY[3][0][0][2][0]
    with Dataset.ingest(lake, "games") as correcting:
        correcting.disqualify("3", f"p{member}")
    rate_run(lake, policy=OFTEN)
    report = publish(lake, "run")
    assert report.kept >= 4
    assert ("3", f"p{member}") not in published(lake)
    assert published(lake)["3", f"p{HISTORY[3][0][-1][2][0]}"] == f"team {len(HISTORY[3][0]) - 1}"
    assert_published(lake)


def test_participants__of_a_contest_are_teams_before_and_after_a_publish(lake: Lake, invoke: Command) -> None:
    member = HISTORY[2][0][0][2][0]
    command = ("player", f"p{member}", "--run", "run", "--format", "json", "--lake", lake.url)
    before = invoke(*command).out
    publish(lake, "run")
    assert invoke(*command).out == before
    shown = {row["contest_id"]: row["n_players"] for row in json.loads(before)}
    assert shown["2"] == len(HISTORY[2][0])
    contests = read(lake, "contests").select(["contest_id", "n_players"]).to_pylist()
    assert shown.items() <= {row["contest_id"]: row["n_players"] for row in contests}.items()


def test_explanations__refuse_contests_of_teams(lake: Lake, invoke: Command) -> None:
    member = HISTORY[2][0][0][2][0]
    refused = invoke.refuses("explain", f"p{member}", "2", "--run", "run", "--lake", lake.url)
    assert "contest 2 is one of teams" in refused


def test_teams__of_a_stale_run_are_null_for_players_who_have_left(lake: Lake) -> None:
    dataset = Dataset.open(lake, "games")
    (part,) = dataset.standings(4, 5)
    index = np.full(len(part.player), 4, np.int32)
    ids = dataset.contests.column("contest_id").to_pylist()
    before = RoundTeams(dataset, ids).of_rows(index, part.player)
    with Dataset.ingest(lake, "games") as correcting:
        correcting.disqualify("0", dataset.handles()[int(part.player[0])].as_py())
    after = RoundTeams(Dataset.open(lake, "games"), ids).of_rows(index, part.player)
    assert before is not None
    assert after is not None
    assert after.name.to_pylist() == [None, *before.name.to_pylist()[1:]]
    assert after.share.tolist()[1:] == before.share.tolist()[1:]
    assert RoundTeams(Dataset.open(lake, "games"), ["gone"] * 5).of_rows(index, part.player) is None
