"""Margins and surprises of runs over games with points: the slope, its standard error, and where they are shown."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.commands import Command
from helpers.games import as_periods, ingest_periods, league, with_points
from helpers.lakes import rate_run
from twins.margins import Rule

from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.storage import Lake, Run

GAMES = with_points(league(400, n_players=12))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = Lake.open(tmp_path_factory.mktemp("surprises") / "lake", create=True)
    ingest_periods(made, as_periods(GAMES))
    ingest_periods(made, as_periods(league(40)), "without")
    rate_run(made, run="margins", dataset="league", system="elo", margin="log_lead", k=40.0)
    rate_run(made, run="without", dataset="without", system="elo")
    return made


def test_slope__is_that_of_the_surprises_one_by_one(lake: Lake) -> None:
    rows, x, y = Run.open(lake, "margins").read_rounds().to_pylist(), [], []
    for game, one, other in zip(GAMES, rows[::2], rows[1::2], strict=True):
        if game.points is None:
            continue
        lead, score = one["mu_prior"] - other["mu_prior"], 0.5 if one["hi"] else 1.0
        factor = float(Rule("log_lead").factor(max(game.points), min(game.points), score, lead))
        x.append(lead)
        y.append(factor * (score - 1.0 / (1.0 + 10.0 ** (-lead / 400.0))))
    x, y = np.array(x), np.array(y)
    slope = (x @ y) / (x @ x)
    error = np.sqrt(np.square(x * (y - slope * x)).sum()) / (x @ x)
    found = evaluate(lake, "margins").margin_and_surprise
    assert found == pytest.approx({"games": len(x), "slope": 100 * slope, "standard_error": 100 * error}, rel=1e-9)


def test_command__shows_the_slope_for_games_with_points_only(invoke: Command, lake: Lake) -> None:
    shown = invoke("evaluate", "--run", "margins", "--lake", lake.url).out
    assert "margin and surprise" in shown
    document = json.loads(invoke("evaluate", "--run", "margins", "--lake", lake.url, "--format", "json").out)
    assert document["margin_and_surprise"] == evaluate(lake, "margins").margin_and_surprise
    assert "margin and surprise" not in invoke("evaluate", "--run", "without", "--lake", lake.url).out
    assert "margin_and_surprise" not in evaluate(lake, "without").to_json()
