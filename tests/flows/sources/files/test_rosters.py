"""Rosters of the reference format, and tables with teams: which members a team has, its places, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.column_names import Columns
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.files.reference import parse_reference
from ranklake.flows.sources.limits import MAX_HANDLE, Limits
from ranklake.flows.sources.options import ReadOptions
from ranklake.storage import Contest


def parse(*standings: Any, limits: Limits | None = None) -> Contest:
    raw = json.dumps({"name": "Round", "time_seconds": 1000, "standings": standings}).encode()
    return parse_reference(raw, "7", limits=limits)


def members(contest: Contest) -> list[tuple[Any, ...]]:
    """Each row as team, player, share, lo, hi."""
    assert contest.teams is not None
    columns = contest.teams.name.to_pylist(), contest.handles.to_pylist(), contest.teams.share.tolist()
    return list(zip(*columns, contest.lo.tolist(), contest.hi.tolist(), strict=True))


def test_rosters__are_rows_of_members_with_the_places_of_their_team() -> None:
    contest = parse(
        ["red", 0, 0, ["ada", "grace"]],
        ["linus", 1, 2],
        ["blue", 1, 2, ["ken", "barbara"], [3, 0.5]],
        ["solo", 3, 3, ["don"], None],
        ["tim", 4, 4, None],
    )
    assert members(contest) == [
        ("red", "ada", 1.0, 0, 0), ("red", "grace", 1.0, 0, 0), (None, "linus", 1.0, 1, 2),
        ("blue", "ken", 3.0, 1, 2), ("blue", "barbara", 0.5, 1, 2), ("solo", "don", 1.0, 3, 3),
        (None, "tim", 1.0, 4, 4),
    ]  # fmt: skip
    assert (len(contest), contest.n_teams) == (7, 5)


def test_points__are_the_last_number_of_a_row() -> None:
    contest = parse(["ada", 0, 0, 12.5], ["linus", 1, 1], ["don", 2, 2, -3])
    assert contest.teams is None
    assert contest.points[[0, 2]].tolist() == [12.5, -3.0]
    assert np.isnan(contest.points[1])
    teams = parse(["red", 0, 0, ["a", "b"], 7], ["blue", 1, 1, ["c", "d"], [1, 2], 0], ["e", 2, 2, None, None, 1])
    assert teams.points.tolist() == [7.0, 7.0, 0.0, 0.0, 1.0]
    assert [row[2] for row in members(teams)] == [1.0, 1.0, 1.0, 2.0, 1.0]
    plain = parse(["ada", 0, 0], ["linus", 1, 1, None])
    assert plain.points is None
    assert len({parse(["ada", 0, 0, *last], ["linus", 1, 1]).content_digest for last in ([], [1], [2])}) == 3


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        (["linus", 1, 1, 2e9], r"points must be within -1e\+09\.\.1e\+09 points, got 2e\+09"),
        (["linus", 1, 1, 3, [1]], "points are the last of a row"),
        (["red", 1, 1, ["linus"], 3, 4], "points are the last of a row"),
        (["linus", 1, 1, "3"], "not the reference format"),
    ],
)
def test_points__of_another_form_are_refused_by_row(row: list[Any], rule: str) -> None:
    with pytest.raises(SourceError, match=f"row 1: {rule}"):
        parse(["ada", 0, 0], row)


def test_contest__whose_teams_have_one_member_has_no_teams_to_rate() -> None:
    assert parse(["red", 0, 0, ["ada"]], ["blue", 1, 1, ["ken"]]).n_teams is None
    assert parse(["ada", 0, 0], ["ken", 1, 1, None]).teams is None


def test_digest__covers_the_members_the_shares_and_the_names_of_teams() -> None:
    contests = [
        parse(["t", 0, 0, ["a", "b", "c"]], ["d", 1, 1]),
        parse(["t", 0, 0, ["a", "b", "c"], [1, 2, 1]], ["d", 1, 1]),
        parse(["u", 0, 0, ["a", "b", "c"]], ["d", 1, 1]),
        parse(["t", 0, 1, ["a", "b"]], ["u", 0, 1, ["c"]], ["d", 2, 2]),
        parse(["t", 0, 0, ["a", "b", "c"]], ["u", 1, 1, ["d"]]),
        parse(["t", 0, 0, ["a", "b", "d"]], ["c", 1, 1]),
    ]
    assert len({contest.content_digest for contest in contests}) == len(contests)
    same = parse(["t", 0, 0, ["a", "b", "c"], [1, 1, 1]], ["d", 1, 1])
    assert same.content_digest == contests[0].content_digest


@pytest.mark.parametrize(
    ("standings", "rule", "rows"),
    [
        ([["red", 0, 0, []]], "team 'red' has no members", [0]),
        ([["", 0, 0, ["ada"]]], "a team needs a name", [0]),
        ([["red", 0, 0, ["ada"]], ["red", 1, 1, ["ken"]]], "team 'red' is listed twice", [0, 1]),
        ([["red", 0, 0, ["ada", "ada"]]], "player 'ada' is listed twice", [0]),
        ([["red", 0, 0, ["ada", "ken"]], ["ken", 1, 1]], "player 'ken' is listed twice", [0, 1]),
        ([["red", 0, 0, ["ada", ""]]], "a player needs a name", [0]),
        ([["red", 0, 0, ["ada", "ken"], [1]]], "team 'red' has 1 share and 2 members", [0]),
        ([["red", 0, 0, ["ada", "ken"], [1, 0]]], "team 'red': a share must be within .*, got 0.0", [0]),
        ([["red", 0, 0, ["ada", "ken"], [1, -1]]], "team 'red': a share must be within .*, got -1.0", [0]),
        ([["red", 0, 0, ["ada", "ken"], [1, None]]], "Expected float, got null", [0]),
        ([["ada", 0, 0, None, [1]]], "'ada' has shares and no members", [0]),
        ([["red", 0, 1, ["ada", "ken"]]], "hi = 1 is outside the field, whose places are 0 to 0", [0]),
        ([["r" * (MAX_HANDLE + 1), 0, 0, ["ada", "ken"]]], "the team 'rrrr", [0]),
    ],
)  # fmt: skip
def test_fault__of_a_roster_names_the_row_and_the_team(standings: Any, rule: str, rows: list[int]) -> None:
    with pytest.raises(SourceError, match=rule) as error:
        parse(*standings)
    assert list(error.value.rows) == rows


def test_limit__of_participants_counts_members() -> None:
    standings = [[f"t{k}", k, k, [f"p{k}", f"q{k}"], [1, 2]] for k in range(5)]
    assert len(parse(*standings, limits=Limits(participants=10))) == 10
    with pytest.raises(SourceError, match="10 participants, at most 9"):
        parse(*standings, limits=Limits(participants=9))


TABLE = """contest,team,player,rank,share
1,red,ada,1,2
1,red,grace,1,1
1,,linus,2,
1,blue,ken,3,
1,blue,barbara,3,
2,,ada,1,
2,,ken,2,
"""


def read(path: Path, text: str, *columns: str, **options: Any) -> list[Contest]:
    path.write_text(text)
    return list(read_contests(path, ReadOptions.parse(columns, **options)))


def test_table__with_a_named_column_has_teams(tmp_path: Path) -> None:
    one, two = read(tmp_path / "results.csv", TABLE, "team=team", "share=share")
    assert members(one) == [
        ("red", "ada", 2.0, 0, 0), ("red", "grace", 1.0, 0, 0), (None, "linus", 1.0, 1, 1),
        ("blue", "ken", 1.0, 2, 2), ("blue", "barbara", 1.0, 2, 2),
    ]  # fmt: skip
    assert two.teams is None
    plain, _ = read(tmp_path / "results.csv", TABLE)
    assert (plain.teams, plain.hi.tolist()) == (None, [1, 1, 2, 4, 4])


PLACES = """contest,team,player,lo,hi
1,blue,ken,1,2
1,red,ada,0,0
1,,linus,1,2
1,red,grace,0,0
1,blue,barbara,1,2
2,,ada,0,0
2,,ken,1,1
"""


def test_table__with_first_and_last_places_of_teams(tmp_path: Path) -> None:
    one, two = read(tmp_path / "results.csv", PLACES, "team=team")
    assert members(one) == [
        ("red", "ada", 1.0, 0, 0), ("red", "grace", 1.0, 0, 0), ("blue", "ken", 1.0, 1, 2),
        ("blue", "barbara", 1.0, 1, 2), (None, "linus", 1.0, 1, 2),
    ]  # fmt: skip
    assert two.teams is None
    ranked = PLACES.replace("lo,hi", "rank,points")
    by_rank, by_rank_alone = read(tmp_path / "ranked.csv", ranked, "team=team", absent="none")
    assert (members(by_rank), by_rank_alone.hi.tolist()) == (members(one), two.hi.tolist())


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (("red,grace,0,0", "red,grace,1,0"), "lo differs inside team 'red': 0 and 1"),
        (("red,grace,0,0", "red,grace,0,1"), "hi differs inside team 'red': 0 and 1"),
        ((",linus,1,2", ",linus,3,3"), "lo"),
        ((",linus,1,2", ",linus,1,3"), "hi"),
        ((",linus,1,2", ",linus,1.5,2"), "a place must be a whole number"),
    ],
)
def test_table__with_impossible_places_of_teams_names_the_contest(
    tmp_path: Path, change: tuple[str, str], rule: str
) -> None:
    with pytest.raises(SourceError, match=rule) as error:
        read(tmp_path / "results.csv", PLACES.replace(*change), "team=team")
    assert (error.value.contest, bool(error.value.rows)) == ("1", True)
    kept = read(tmp_path / "results.csv", PLACES.replace(*change), "team=team", on_error="skip")
    assert [contest.contest_id for contest in kept] == ["2"]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (("red,grace,1,1", "red,grace,2,1"), "rank differs inside team 'red': 1 and 2"),
        (("red,grace,1,1", "red,grace,1,"), "all members of a team have one or none"),
        (("red,grace,1,1", "red,grace,1,-1"), "a share must be within .* got share = '-1'"),
        (("blue,ken", "blue,ada"), "player 'ada' is listed twice"),
    ],
)
def test_table__with_a_fault_of_a_team_names_the_row(tmp_path: Path, change: tuple[str, str], rule: str) -> None:
    with pytest.raises(SourceError, match=rule) as error:
        read(tmp_path / "results.csv", TABLE.replace(*change), "team=team", "share=share")
    assert error.value.contest == "1"
    assert error.value.rows
    skipped = read(tmp_path / "results.csv", TABLE.replace(*change), "team=team", "share=share", on_error="skip")
    assert [contest.contest_id for contest in skipped] == ["2"]


@pytest.mark.parametrize(
    ("settings", "options", "rule"),
    [
        (["share=share"], {}, "name the column of the teams, too"),
        (["team=team"], {"duplicates": "best"}, "duplicates='best' is not for results of teams"),
    ],
)
def test_settings__that_contradict_teams_are_refused(settings: list[str], options: dict[str, str], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        ReadOptions.parse(settings, **options)


def test_column__of_teams_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="there is no column 'crew' \\(team\\)"):
        read(tmp_path / "results.csv", TABLE, "team=crew")
    assert Columns().find(["contest", "player", "rank", "team"]).keys() == {"contest", "player", "rank"}
