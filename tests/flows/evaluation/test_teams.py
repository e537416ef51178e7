"""Metrics of rounds of teams: one row a team, from a run, a frame and a search alike."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.lakes import lake_of, rate_run, rated
from helpers.teams import draw_team_contests, team_contests, team_frame, team_rounds

from ranklake import rate_history
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.task_pool import open_task_pool
from ranklake.flows.evaluation.entrants import Entrants
from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.flows.evaluation.frames import evaluate_history
from ranklake.flows.evaluation.tuning.record import TuningConfig
from ranklake.flows.evaluation.tuning.trials import held_out_scores, load_history
from ranklake.flows.evaluation.tuning.tune import tune
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS
from ranklake.storage import Dataset, Lake

HISTORY = draw_team_contests(7, 120, 8)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = lake_of(tmp_path_factory.mktemp("teams") / "lake", team_contests(HISTORY))
    rate_run(made, system="elo-mmx")
    return made


def test_run__is_scored_with_one_row_a_team(lake: Lake) -> None:
    scores = evaluate(lake, "run")
    rows = rated(lake).to_pandas().set_index(["contest_id", "player"])
    for number, (standings, *_) in enumerate(HISTORY):
        assert scores.n_players[number] == len(standings)
        teams = []
        for lo, _, members, shares in standings:
            own = rows.loc[[(str(number), f"p{member}") for member in members]]
            share = np.array(shares or [1.0] * len(members))
            if (own["n_before"] > 0).all():  # a team with a newcomer is a newcomer
                teams.append((lo, float(own["mu_prior"].to_numpy() @ share / share.sum())))
        pairs = [(one, other) for i, one in enumerate(teams) for other in teams[i + 1 :]]
        places, ratings = (np.sign([b[k] - a[k] for a, b in pairs]) for k in (0, 1))
        if np.any(places * ratings):
            tau = -(places @ ratings) / math.sqrt((places @ places) * (ratings @ ratings))
            assert scores.filters["everyone"].values["kendall_tau_b"][number] == pytest.approx(tau, abs=1e-12)
            assert scores.filters["everyone"].weight[number] == len(teams)


def test_frame_and_tune__have_the_scores_of_the_run(lake: Lake) -> None:
    run = evaluate(lake, "run").filters["everyone"].summary()
    history = rate_history(team_frame(HISTORY), "elo-mmx", columns={"team": "team", "share": "share"}, engine="serial")
    shares = team_frame(HISTORY).set_index(["contest", "player"])["share"]
    history["share"] = shares.loc[list(zip(history["contest"], history["player"], strict=True))].to_numpy()
    weights = team_frame(HISTORY).drop_duplicates("contest").set_index("contest")["weight"]
    history["weight"] = weights.loc[history["contest"]].to_numpy()
    frame = evaluate_history(history, columns={"team": "team", "share": "share"}, system="elo-mmx").loc["everyone"]
    for metric, value in run.items():
        assert frame[metric] == pytest.approx(value, rel=1e-12), metric
    searched, _ = load_history(Dataset.open(lake, "games"))
    found = held_out_scores(searched, 0, "elo-mmx", {}, Serial(), "everyone", "rank_information")
    assert found == {metric: pytest.approx(run[metric], rel=1e-12) for metric in found}


def test_tune__chooses_between_the_rules_of_teams(lake: Lake) -> None:
    space = ("team=mean,best", "team_noise=team,members", "credit=joint,own")
    options = {"train_share": 0.5, "filter": "everyone", "metric": "rank_information", "name": "rules"}
    config = TuningConfig(dataset="games", system="elo-mmx", space=space, **options)
    with open_task_pool(1) as pool:
        report = tune(lake, config, pool, config.proposals())
    assert len(report.trials) == 8
    assert len({trial.scores["rank_information"] for trial in report.trials}) == 8


def test_teams__of_one_are_scored_as_individuals(lake: Lake, tmp_path: Path) -> None:
    history = rate_history(team_frame(HISTORY), "elo-mmx", columns={"team": "team"}, engine="serial")
    alone = history.assign(team=[str(k) for k in range(len(history))])
    pd.testing.assert_frame_equal(evaluate_history(alone, columns={"team": "team"}), evaluate_history(alone))


@pytest.mark.parametrize("settings", [{}, {"team": "best"}, {"team_noise": "members"}])
@pytest.mark.parametrize("name", ["elo-mmr", "elo-mms"])
def test_law__of_a_team_is_that_of_its_rating_and_of_one_member(name: str, settings: dict[str, str]) -> None:
    """Members of one skill: the mean is theirs; the deviation follows from the sums of variances."""
    system = SYSTEMS[name]
    params = system.params(**settings)
    standings = [(0, 0, [0, 1, 2], None), (1, 1, [3], None), (2, 2, [4, 5], [1.0, 3.0])]
    rounds = team_rounds([(standings, 0, 1.0, math.inf)], {k: k for k in range(6)})
    outcome = rate_rounds(system, params, system.newcomers(params, 6), rounds, Serial())
    entrants = Entrants.of(
        system, params, rounds.offsets, rounds.lo, outcome.mu_prior, outcome.sigma_prior, outcome.n_before,
        outcome.mu - outcome.mu_prior, rounds.weight, rounds.teams,
    )  # fmt: skip
    law, sigma = entrants.law, outcome.sigma_prior[0]
    assert law is not None
    assert entrants.offsets.tolist() == [0, 3]
    assert entrants.lo.tolist() == [0, 1, 2]
    noise = law.deviation[1] ** 2 - sigma**2
    weights = [[1 / 3] * 3, [1.0], [1 / 2, 1 / 2] if "team" in settings else [1 / 4, 3 / 4]]
    for k, weight in enumerate(weights):
        squares = float(np.square(weight).sum())
        expected = squares * sigma**2 + noise * (squares if "team_noise" in settings else 1.0)
        assert law.deviation[k] ** 2 == pytest.approx(expected, rel=1e-12)
        if "team" not in settings:
            assert law.mean[k] == pytest.approx(law.mean[1], rel=1e-12)
    if "team" in settings:
        assert law.mean[0] > law.mean[2] > law.mean[1]


def test_faults__of_a_frame_are_refused() -> None:
    history = rate_history(team_frame(HISTORY), "elo-mmx", columns={"team": "team"}, engine="serial")
    with pytest.raises(ValueError, match="history has no column 'crew'"):
        evaluate_history(history, columns={"team": "crew"})
    for columns, message in (({"share": "lo"}, "the column of the teams, too"), ({"rank": "lo"}, "got 'rank'")):
        with pytest.raises(ValueError, match=message):
            evaluate_history(history, columns=columns)
    with pytest.raises(ValueError, match="share must be within"):
        evaluate_history(history.assign(share=0.0), columns={"team": "team", "share": "share"})
