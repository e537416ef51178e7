"""Teams in frames: which rows are one, its places and shares; predictions by its law; and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.lakes import contest, lake_of, rate_run

from ranklake import SYSTEMS, predict, rate_history
from ranklake.rating_kernels.registry import of_contests

ROWS = [
    ("one", "red", "ada", 1, 2.0),
    ("one", "red", "bob", 1, 1.0),
    ("one", None, "cid", 2, np.nan),
    ("one", "blue", "dan", 3, np.nan),
    ("one", "blue", "eve", 3, np.nan),
    ("two", "blue", "ada", 1, 1.0),
    ("two", "red", "cid", 2, 1.0),
    ("two", "blue", "dan", 1, 3.0),
    ("two", "red", "eve", 2, 1.0),
]


def results(rows=ROWS, **columns) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["contest", "team", "player", "rank", "share"]).assign(**columns)


def test_history__of_teams_has_places_of_teams_and_members_side_by_side() -> None:
    history = rate_history(results(), "elo-mmx", columns={"team": "team", "share": "share"}, engine="serial")
    assert history["player"].tolist() == ["ada", "bob", "cid", "dan", "eve", "ada", "dan", "cid", "eve"]
    assert history["lo"].tolist() == [0, 0, 1, 2, 2, 0, 0, 1, 1]
    assert history["hi"].tolist() == history["lo"].tolist()
    assert history["team"].fillna("").tolist() == ["red", "red", "", "blue", "blue", "blue", "blue", "red", "red"]
    one = history.set_index("player").loc[["ada", "bob", "cid", "dan", "eve"]].query("contest == 'one'")
    gain = one["mu"] - one["mu_prior"]
    assert gain["ada"] > gain["bob"] > 0 > gain["dan"] == gain["eve"]


def test_team__of_a_tie_shares_its_places_with_the_other_team() -> None:
    tied = results(rank=[1, 1, 1, 3, 3, 1, 2, 1, 2])
    history = rate_history(tied, "elo-mmx", columns={"team": "team"}, engine="serial")
    assert history["lo"].tolist() == [0, 0, 0, 2, 2, 0, 0, 1, 1]
    assert history["hi"].tolist() == [1, 1, 1, 2, 2, 0, 0, 1, 1]


def test_column__of_teams_that_is_not_named_is_ignored() -> None:
    history = rate_history(results(), "elo-mmx", engine="serial")
    assert "team" not in history
    assert history["hi"].max() == 4
    without = rate_history(results().drop(columns=["team", "share"]), "elo-mmx", engine="serial")
    pd.testing.assert_frame_equal(history, without)


def test_hyperparameter__of_teams_has_its_own_name() -> None:
    mean, best = (rate_history(results(), "elo-mmx", columns={"team": "team"}, team=rule) for rule in ("mean", "best"))
    pd.testing.assert_frame_equal(mean, rate_history(results(), "elo-mmx", columns={"team": "team"}))
    assert not np.allclose(mean["mu"], best["mu"])


def test_teams__of_one_give_the_bits_of_individuals() -> None:
    alone = results(team=[str(k) for k in range(len(ROWS))])
    history = rate_history(alone, "elo-mmx", columns={"team": "team"}, engine="serial")
    pd.testing.assert_frame_equal(history.drop(columns="team"), rate_history(alone, "elo-mmx", engine="serial"))


def test_order__of_the_rows_and_the_scale_of_shares_change_nothing() -> None:
    one = rate_history(results(), "elo-mmx", columns={"team": "team", "share": "share"}, engine="serial")
    shares = results()["share"] * 4
    turned = results(share=shares)[::-1].sort_values("contest", kind="stable")
    other = rate_history(turned, "elo-mmx", columns={"team": "team", "share": "share"}, engine="serial")
    columns = ["mu", "sigma", "perf"]
    one, other = (frame.set_index(["contest", "player"])[columns].sort_index() for frame in (one, other))
    np.testing.assert_allclose(one, other.loc[one.index], rtol=1e-13)


def test_contest__of_one_team_is_one_participant_and_skipped() -> None:
    history = rate_history(results(ROWS[:2] + ROWS[5:]), "elo-mmx", columns={"team": "team"}, engine="serial")
    assert history.attrs["reasons"] == {"one participant only": 1}
    assert set(history["contest"]) == {"two"}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"rank": [1, 2, 3, 4, 4, 1, 2, 1, 2]}, r"rank differs inside team 'red': 1 and 2"),
        ({"share": [1, 0, 1, 1, 1, 1, 1, 1, 1]}, r"a share must be within .*got share = 0"),
        ({"share": [1, -1, 1, 1, 1, 1, 1, 1, 1]}, r"a share must be within .*got share = -1"),
        ({"share": [1, np.nan, 1, 1, 1, 1, 1, 1, 1]}, r"all members of a team have one or none, got share = None"),
        ({"player": list("aacdeabcd")}, r"player 'a' is listed twice"),
        ({"player": list("abcdaabcd")}, r"player 'a' is listed twice"),
    ],
)
def test_faults__of_teams_are_refused(columns: dict[str, list], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rate_history(results(**columns), "elo-mmx", columns={"team": "team", "share": "share"}, engine="serial")


def test_contest__with_a_fault_in_a_team_is_left_out() -> None:
    faulty = results(rank=[1, 2, 3, 4, 4, 1, 2, 1, 2])
    with pytest.warns(UserWarning, match="left out 1 contest"):
        history = rate_history(faulty, "elo-mmx", columns={"team": "team"}, on_error="skip", engine="serial")
    assert history["player"].tolist() == ["ada", "dan", "cid", "eve"]
    assert history["hi"].max() == 1


def test_settings__that_contradict_each_other_are_refused() -> None:
    for arguments, message in (
        ({"columns": {"share": "share"}}, "name the column of the teams, too"),
        ({"columns": {"team": "team"}, "duplicates": "best"}, "duplicates='best' is not for results of teams"),
        ({"columns": {"team": "crew"}}, "there is no column 'crew' \\(team\\)"),
    ):
        with pytest.raises(ValueError, match=message):
            rate_history(results(), **arguments)


def test_history__of_teams_is_read_again_by_its_places() -> None:
    history = rate_history(results(), columns={"team": "team"}, engine="serial")
    again = rate_history(history, columns={"team": "team"}, engine="serial")
    assert again.equals(history)
    with pytest.raises(ValueError, match="lo differs inside team"):
        rate_history(history.assign(lo=range(len(history))), columns={"team": "team"})


def test_system__without_a_rule_for_teams_names_those_with_one() -> None:
    for name in set(of_contests()) - {"elo-mmr", "elo-mmx", "elo-mms", "trueskill", "bar"}:
        with pytest.raises(ValueError, match=f"{name} has no rule for rounds of teams; elo-mmr, .*, trueskill and bar"):
            rate_history(results(), name, columns={"team": "team"}, engine="serial")


# Predictions with teams


ALONE = pd.DataFrame(
    {"contest": [1] * 5 + [2] * 5, "player": list("abcde") + list("badec"), "rank": [1, 2, 3, 4, 5] * 2}
)


def beliefs(system: str, **settings: object):
    return rate_history(ALONE, system, engine="serial", return_beliefs=True, **settings)[1]


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
        history = rate_history(pd.concat([ALONE, last]), system, columns={"team": "team"}, engine="serial")
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
