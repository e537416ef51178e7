"""Rounds of teams of Codeforces, from the standings of the site to the ratings of their members."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.contents import counts, standings
from helpers.fake_codeforces import BEGAN, DAY, FakeCodeforces, changes, team_standings
from helpers.lakes import rate_run, rated
from helpers.responses import parse, parse_one
from helpers.server import Server

from ranklake.flows.ingestion.sites import ingest_source, normalise_source
from ranklake.storage import Contest, Dataset, Lake

PARTIES = ("red", 1, ["ada", "bob"]), (None, 2, ["cid"]), ("blue", 2, ["dan", "eve", "fay"]), ("solo", 4, ["gus"])


def standings_of(result: Any, number: int = 524) -> list[Any]:
    return parse("codeforces-teams", "standings", str(number), {"status": "OK", "result": result})


def contest(*parties: Any) -> Contest:
    body = {"status": "OK", "result": team_standings(524, *parties)}
    return parse_one("codeforces-teams", "standings", "524", body)


def test_standings__give_each_team_one_place_and_its_members() -> None:
    found = contest(*PARTIES)
    assert found.teams is not None
    assert found.handles.to_pylist() == ["ada", "bob", "cid", "dan", "eve", "fay", "gus"]
    assert found.teams.name.to_pylist() == ["red", "red", None, "blue", "blue", "blue", None]
    assert found.lo.tolist() == [0, 0, 1, 1, 1, 1, 3]
    assert found.hi.tolist() == [0, 0, 2, 2, 2, 2, 3]
    assert found.n_teams == 4
    assert found.time_seconds == BEGAN + 524 * DAY + 7200


def test_standings__in_any_order_are_sorted_by_rank() -> None:
    assert contest(*PARTIES[::-1]).handles.to_pylist() == ["ada", "bob", "dan", "eve", "fay", "cid", "gus"]
    assert contest(*PARTIES[::-1]).lo.tolist() == [0, 0, 1, 1, 1, 1, 3]


def test_teams__with_one_name_have_their_ids() -> None:
    teams = contest(("red", 1, ["a", "b"]), ("red", 2, ["c", "d"]), ("", 3, ["e", "f"])).teams
    assert teams is not None
    assert teams.name.to_pylist() == ["red (100)", "red (100)", "red (101)", "red (101)", "(102)", "(102)"]


def test_parties__out_of_competition_are_left_out() -> None:
    result = team_standings(524, *PARTIES)
    result["rows"][0]["party"]["participantType"] = "VIRTUAL"
    result["rows"][1]["party"]["ghost"] = True
    (found,) = standings_of(result)
    assert found.handles.to_pylist() == ["dan", "eve", "fay", "gus"]
    assert standings_of(team_standings(524)) == []


@pytest.mark.parametrize(
    ("parties", "rule"),
    [
        ((("red", 1, ["a", "b"]), ("blue", 2, ["b", "c"])), "player 'b' is listed twice"),
        ((("red", 1, ["a", "b"]), ("blue", 2, [])), "a party has no members"),
        ((("red", 1, ["a", "b"]), ("blue", 0, ["c"])), "rank = 0; ranks count from 1"),
        ((("red", 1, ["a", ""]),), "a player needs a name"),
    ],
)
def test_fault__of_a_party_is_an_error_of_its_contest(parties: Any, rule: str) -> None:
    (found,) = standings_of(team_standings(524, *parties))
    assert rule in found.rule


def test_response__for_another_contest_is_an_error() -> None:
    (found,) = standings_of(team_standings(524, *PARTIES), 532)
    assert found.rule == "the response for 532 is of contest 524"


def test_rounds__of_teams_join_the_others_in_order_of_time(lake: Lake, server: Server) -> None:
    site = FakeCodeforces(server)
    site.add(523, changes(523, ("ada", 1), ("cid", 2)))
    site.add(524, None)
    site.add(525, changes(525, ("eve", 1), ("ada", 2)))
    server["/api/contest.standings?contestId=524&showUnofficial=false"] = {
        "status": "OK",
        "result": team_standings(524, *PARTIES),
    }
    assert counts(ingest_source(lake, "codeforces", client=site.client())) == {"new": 2, "requests": 3}
    assert counts(ingest_source(lake, "codeforces-teams", "codeforces", client=site.client())) == {
        "new": 1,
        "requests": 2,
    }
    assert counts(normalise_source(lake, "codeforces-teams", "codeforces")) == {"unchanged": 1}
    assert list(standings(lake, "codeforces")) == ["523", "524", "525"]
    assert Dataset.open(lake, "codeforces").contests.column("n_teams").to_pylist() == [None, 4, None]
    rate_run(lake, dataset="codeforces")
    assert rated(lake).num_rows == 2 + 7 + 2
