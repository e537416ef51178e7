"""How far one contest could have moved a rating."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from helpers.commands import Command
from helpers.lakes import contest, lake_of, rate_run, rated, synthetic
from helpers.teams import rosters

from ranklake.flows.answers.explanations.explanation import explain
from ranklake.storage import Dataset, Lake, LakeError

CONTESTS = synthetic(20, n_players=8, size=6)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("caps") / "lake", CONTESTS)
    rate_run(lake, run="elo-mmr")
    rate_run(lake, run="forgets", rho=math.inf)
    for name in ("elo-mmx", "elo-mms", "elo-r", "codeforces"):
        rate_run(lake, run=name, system=name)
    return lake


@pytest.mark.slow
def test_caps__without_memory_have_a_closed_form(lake: Lake) -> None:
    """Theorem 5.7 with a normal belief: pi / sqrt 3 times sigma^2 / beta, with beta^2 = s^2 (1 + 1 / (u w))."""
    contests = Dataset.open(lake, "games").contests
    weights = {one["contest_id"]: one["weight"] for one in contests.to_pylist()}
    rows = rated(lake, "forgets").to_pylist()
    for row in rows[::11]:
        caps = explain(lake, "forgets", row["player"], row["contest_id"], caps=True)[0].caps
        assert caps is not None
        beta = 80.0 * math.sqrt(1.0 + 1.0 / (0.2 * (weights[row["contest_id"]] or 1.0)))
        expected = math.pi / math.sqrt(3.0) * row["sigma_prior"] ** 2 / beta
        assert caps.largest_rise == pytest.approx(expected, rel=1e-5)
        assert caps.largest_fall == pytest.approx(-expected, rel=1e-5)


@pytest.mark.parametrize("run", ["elo-mmr", "elo-r"])
def test_caps__hold_the_change_of_every_contest(lake: Lake, run: str) -> None:
    for row in rated(lake, run).to_pylist()[::9]:
        found, _ = explain(lake, run, row["player"], row["contest_id"], caps=True)
        assert found.caps is not None
        change = row["mu"] - row["mu_prior"]
        assert found.caps.largest_fall < change < found.caps.largest_rise < math.inf


def test_caps__of_normal_performances_have_no_bound_and_of_skewed_ones_none_above(lake: Lake) -> None:
    row = rated(lake, "elo-mmx").to_pylist()[-1]
    found, _ = explain(lake, "elo-mmx", row["player"], row["contest_id"], caps=True)
    assert found.caps == (math.inf, -math.inf)
    assert (found.to_json()["largest_rise"], found.to_json()["largest_fall"]) == (None, None)
    found, _ = explain(lake, "elo-mms", row["player"], row["contest_id"], caps=True)
    assert found.caps is not None
    assert found.caps.largest_rise == math.inf


def test_caps__are_shown_only_if_asked_for(invoke: Command, lake: Lake) -> None:
    row = rated(lake, "elo-mmr").to_pylist()[-1]
    words = ("explain", row["player"], row["contest_id"], "--run", "elo-mmr", "--lake", lake.url)
    assert "largest" not in invoke(*words).out
    assert "largest_rise" not in json.loads(invoke(*words, "--format", "json").out)
    assert "largest rise of mu by one result" in invoke(*words, "--caps").out
    assert json.loads(invoke(*words, "--caps", "--format", "json").out)["largest_rise"] > 0.0


def test_caps__are_refused_where_performances_do_not_decide_alone(lake: Lake, tmp_path: Path) -> None:
    row = rated(lake, "codeforces").to_pylist()[-1]
    with pytest.raises(LakeError, match=r"--caps is for the systems elo-mmr, .*; run codeforces is of codeforces"):
        explain(lake, "codeforces", row["player"], row["contest_id"], caps=True)
    of_teams = rosters("1", ("red", "a", "b"), ("blue", "c", "d"), time_seconds=1)
    other = lake_of(tmp_path, [of_teams, contest("2", "a", "b", "c", time_seconds=90_000)])
    rate_run(other)
    with pytest.raises(LakeError, match="does not follow from the player's own performances, as in rounds of teams"):
        explain(other, "run", "a", "2", caps=True)
