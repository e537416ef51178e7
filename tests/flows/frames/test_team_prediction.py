"""Predictions with teams: chances by the law of a team, and the rating of a member after each place of its team."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import NormalDist

import pandas as pd
import pytest
from helpers.commands import Command
from helpers.lakes import contest, lake_of, rate_run

from ranklake import predict, rate_history
from ranklake.rating_kernels import SYSTEMS

RESULTS = pd.DataFrame(
    {"contest": [1] * 5 + [2] * 5, "player": list("abcde") + list("badec"), "rank": [1, 2, 3, 4, 5] * 2}
)


def beliefs(system: str, **settings: object):
    return rate_history(RESULTS, system, engine="serial", return_beliefs=True, **settings)[1]


def test_chance__of_a_team_follows_from_the_mean_of_normal_laws() -> None:
    known = beliefs("elo-mmx", beta=200.0, gamma=0.0)
    prediction = predict(known, [["a", "b"], "c", ["d", "e"]])
    assert prediction.players == ["a+b", "c", "d+e"]
    alone = predict(known, list("abcde")).table()
    mean = {team: alone["mu"][list(team)].mean() for team in ("ab", "c", "de")}
    variance = {team: (alone["sigma"][list(team)] ** 2).sum() / len(team) ** 2 for team in mean}

    def expected(one: str, other: str) -> float:
        return NormalDist().cdf((mean[one] - mean[other]) / math.sqrt(variance[one] + variance[other] + 2 * 200.0**2))

    assert prediction.chance("a+b", "c") == pytest.approx(expected("ab", "c"), rel=1e-9)
    assert prediction.chance("d+e", "a+b") == pytest.approx(expected("de", "ab"), rel=1e-9)
    table = prediction.table()
    assert table["mu"].to_list() == pytest.approx(list(mean.values()))
    assert table["rating"].to_list() == pytest.approx([alone["rating"][list(team)].mean() for team in mean])
    assert table["expected_place"].sum() == pytest.approx(6.0)


def test_chance__in_trueskill_adds_skills_and_noises_up() -> None:
    known = beliefs("trueskill", tau=0.0)
    alone = predict(known, list("abcde")).table()
    beta = SYSTEMS["trueskill"].params(tau=0.0).beta
    gap = alone["mu"]["a"] + alone["mu"]["b"] - alone["mu"]["c"]
    variance = (alone["sigma"][["a", "b", "c"]] ** 2).sum() + 3 * beta**2
    found = predict(known, [["a", "b"], "c"]).chance("a+b", "c")
    assert found == pytest.approx(NormalDist().cdf(gap / math.sqrt(variance)), abs=1e-6)


@pytest.mark.parametrize("system", ["elo-mmr", "elo-mms", "trueskill"])
def test_outcome__of_a_member_is_its_rating_after_the_round(system: str) -> None:
    entrants = [["a", "b"], "c", ["d", "e"], "newcomer"]
    prediction = predict(beliefs(system), entrants)
    others = prediction.table().drop("d+e").sort_values("mu", ascending=False, kind="stable").index.tolist()
    for place in (1, 3):
        teams = [*others[: place - 1], "d+e", *others[place - 1 :]]
        rows = [(3, team, player, rank) for rank, team in enumerate(teams, start=1) for player in team.split("+")]
        last = pd.DataFrame(rows, columns=["contest", "team", "player", "rank"])
        history = rate_history(pd.concat([RESULTS, last]), system, columns={"team": "team"}, engine="serial")
        after = history[history["contest"] == 3].set_index("player").loc["e"]
        row = prediction.outcomes("e", [place]).iloc[0]
        assert (row["mu"], row["sigma"]) == (after["mu"], after["sigma"])
    assert prediction.place_needed("e", prediction.outcomes("e", [2])["rating"].iloc[0]) == 2


def test_teams__of_one_are_players() -> None:
    known = beliefs("elo-mmr")
    alone, teams = predict(known, ["a", "b", "c"]), predict(known, [["a"], "b", ["c"]])
    pd.testing.assert_frame_equal(alone.table(), teams.table())
    pd.testing.assert_frame_equal(alone.outcomes("c"), teams.outcomes("c"))


@pytest.mark.parametrize(
    ("entrants", "message"),
    [
        ([["a", "b"], "a"], "player 'a' is named twice"),
        ([["a", "b"], ["b", "c"]], "player 'b' is named twice"),
        ([["a", "b"], "a+b"], "player 'a\\+b' is named twice"),
        ([[], "a"], "a team has no members"),
        ([["a", "b"]], "at least two players, got 1"),
    ],
)
def test_entrants__that_are_no_round_are_refused(entrants: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        predict(beliefs("elo-mmx"), entrants)


def test_system__without_a_rule_and_outcome_of_a_team_are_refused() -> None:
    with pytest.raises(ValueError, match="glicko has no rule for rounds of teams"):
        predict(beliefs("glicko"), [["a", "b"], "c"])
    with pytest.raises(ValueError, match="'a\\+b' is a team; the rating after a place is that of a member: 'a', 'b'"):
        predict(beliefs("elo-mmx"), [["a", "b"], "c"]).outcomes("a+b")


def test_command__reads_a_plus_between_members_unless_it_is_in_a_name(invoke: Command, tmp_path: Path) -> None:
    lake = lake_of(
        tmp_path / "lake", [contest("1", "ada", "c++", "grace", "linus"), contest("2", "linus", "ada", "c++")]
    )
    rate_run(lake, system="elo-mmx")
    there = ("--run", "run", "--lake", lake.url)
    rows = json.loads(invoke("predict", "ada+grace", "c++", "linus", *there, "--format", "json").out)
    assert {row["handle"] for row in rows} == {"ada+grace", "c++", "linus"}
    assert (
        len(json.loads(invoke("predict", "ada+grace", "linus", "--of", "grace", *there, "--format", "json").out)) == 2
    )
    assert "no player 'nobody'" in invoke.refuses("predict", "ada+nobody", "linus", *there)
    assert "a member between two + has no name" in invoke.refuses("predict", "ada++grace", "linus", *there, code=2)
    assert "'ada+grace' is a team" in invoke.refuses("predict", "ada+grace", "linus", "--of", "ada+grace", *there)
