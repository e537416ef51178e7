"""Three chances in the evaluation of runs: of games, of contests of two, of teams, and of runs from before."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import twins.chances as slow
from helpers.commands import Command
from helpers.games import Game, as_contests, as_periods, ingest_periods, league, with_advantages
from helpers.lakes import copy_of, ingest, often, rate_run
from helpers.teams import team_contests

import ranklake
from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.flows.evaluation.games import LEAST_BEFORE
from ranklake.storage import Lake, Run

GAMES = with_advantages(league(240, n_players=12, days=8))
PERIODS = as_periods(GAMES)
SCORES = ("log_loss3", "brier3", "ranked_probability")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Runs over games in periods with advantages, and over one contest a game."""
    lake = Lake.open(tmp_path_factory.mktemp("chances") / "lake", create=True)
    ingest_periods(lake, PERIODS)
    ingest(lake, as_contests([game._replace(advantage=0.0) for game in GAMES]), "contests")
    rate_run(lake, run="games", dataset="league", system="elo", policy=often(segment_rows=60))
    rate_run(lake, run="contests", dataset="contests", system="elo")
    rate_run(lake, run="trueskill", dataset="contests", system="trueskill")
    return lake


def _fits(lake: Lake, run: str) -> list[dict[str, Any]]:
    """The fits that the run has stored."""
    return list(json.loads(Path(lake.url, "runs", run, "rounds", "chances.json").read_text("utf-8"))["fits"])


def _known(fits: list[dict[str, Any]], round_index: int) -> tuple[float, float]:
    """nu and the advantage before a round."""
    before = [fit["overall"] for fit in fits if fit["round"] <= round_index]
    return (before[-1]["nu"], before[-1]["advantage"]) if before else (2.0 / 3.0, 0.0)


def _plain_means(lake: Lake, run: str, games: list[Game], least: int, first_known: bool) -> dict[str, float]:
    """The means from stored ratings and fits, one game after the other."""
    rows, totals, n, fits = (
        Run.open(lake, run).read_rounds().to_pylist(),
        dict.fromkeys(SCORES, 0.0),
        0,
        _fits(lake, run),
    )
    for game, one, two in zip(games, rows[::2], rows[1::2], strict=True):
        if min(one["n_before"], two["n_before"]) < least:
            continue
        nu, advantage = _known(fits, one["round_index"])
        white_first = game.score >= 0.5
        lead = (one["mu_prior"] - two["mu_prior"]) * (1 if white_first else -1) + game.advantage
        assert first_known or advantage == 0.0
        p = [float(x) for x in slow.three_way(slow.expected(lead + advantage, 400.0), Decimal(nu), "preserving")]
        y = [float(game.score == score) for score in (1.0, 0.5, 0.0)]
        n += 1
        totals["log_loss3"] -= math.log2(p[y.index(1.0)])
        totals["brier3"] += sum((a - b) ** 2 for a, b in zip(p, y, strict=True))
        totals["ranked_probability"] += 0.5 * ((p[0] - y[0]) ** 2 + (p[2] - y[2]) ** 2)
    return {"games": n} | {name: total / n for name, total in totals.items()}


@pytest.mark.parametrize("run", ["games", "contests"])
def test_games__are_predicted_by_what_was_learnt_before_their_round(lake: Lake, run: str) -> None:
    found = evaluate(lake, run).to_json()["three_way"]
    assert (found["draws"], found["note"]) == ("preserving", None)
    assert len(_fits(lake, run)) >= 3
    games = GAMES if run == "games" else [game._replace(advantage=0.0) for game in GAMES]
    for name, least in LEAST_BEFORE.items():
        expected = _plain_means(lake, run, games, least, run == "games")
        assert {key: found["filters"][name][key] for key in expected} == pytest.approx(expected, rel=1e-9)
        assert found["filters"][name]["left_out"] == 0
    assert (found["filters"]["everyone"]["second_won"] > 0) == (run == "games")


def test_skipped_rounds__leave_the_scores_of_the_others(lake: Lake) -> None:
    whole, rest = (evaluate(lake, "games", first).three_way for first in (0, 3))
    assert whole is not None
    assert rest is not None
    assert np.array_equal(whole.scores.sums[3:], rest.scores.sums)


def test_run_from_before__has_the_same_scores_with_a_note(lake: Lake, tmp_path: Path) -> None:
    copied = copy_of(lake, tmp_path / "lake")
    expected = evaluate(lake, "games").to_json()
    path = Path(copied.url, "runs", "games", "rounds", "chances.json")
    for damage in (path.unlink, lambda: path.write_text("{", "utf-8")):
        damage()
        found = evaluate(copied, "games").to_json()
        assert "draws and advantages were fitted now" in found["three_way"].pop("note")
        assert found == expected | {"three_way": {k: v for k, v in expected["three_way"].items() if k != "note"}}


def test_learnt_advantage__is_in_the_chances_that_the_run_has_rated_with(
    invoke: Command, lake: Lake, tmp_path: Path
) -> None:
    copied = copy_of(lake, tmp_path / "lake")
    given = ("--dataset", "league", "--system", "elo", "--run", "ahead", "--advantage", "learnt")
    assert invoke("rate", *given, "--lake", copied.url).code == 0
    rows, fits, squares = Run.open(copied, "ahead").read_rounds().to_pylist(), _fits(copied, "ahead"), []
    for game, one, two in zip(GAMES, rows[::2], rows[1::2], strict=True):
        ahead = (game.advantage + _known(fits, one["round_index"])[1]) * (1 if game.score >= 0.5 else -1)
        expected = float(slow.expected(one["mu_prior"] - two["mu_prior"] + ahead, 400.0))
        if min(one["n_before"], two["n_before"]) >= 1:
            squares.append(((0.5 if game.score == 0.5 else 1.0) - expected) ** 2)
    found = evaluate(copied, "ahead").to_json()
    assert found["games"]["everyone"]["squared_error"] == pytest.approx(np.mean(squares), rel=1e-9)
    expected = _plain_means(copied, "ahead", GAMES, 1, True)
    assert {key: found["three_way"]["filters"]["everyone"][key] for key in expected} == pytest.approx(
        expected, rel=1e-9
    )


def test_trueskill__has_its_own_draws(lake: Lake) -> None:
    found = evaluate(lake, "trueskill").to_json()["three_way"]
    assert found["draws"] == "own"
    row = found["filters"]["everyone"]
    assert 0.05 < row["draws_predicted"] < 0.15  # p_draw is 0.1; a third are seen
    assert row["draws_seen"] > 0.25


@pytest.mark.slow
def test_teams__of_contests_of_two_have_three_chances_and_other_contests_have_none(tmp_path: Path) -> None:
    lake, random, contests = Lake.open(tmp_path / "lake", create=True), np.random.default_rng(8), []
    for day in range(60):
        people = random.permutation(9)[:4].tolist()
        place = 0 if random.random() < 0.3 else 1
        standings = [(0, 1 - place, people[:2], None), (place, 1, people[2:], None)]
        contests.append((standings, 86_400 * day, 1.0, math.inf))
    ingest(lake, team_contests(contests), "duels")
    rate_run(lake, run="duels", dataset="duels", system="trueskill")
    found = evaluate(lake, "duels").to_json()["three_way"]["filters"]["everyone"]
    assert 0 < found["games"] < 60
    assert found["draws_seen"] > 0.1
    larger = [(0, 0, [0], None), (1, 1, [1], None), (2, 2, [2], None)]
    ingest(lake, team_contests([*contests, (larger, 86_400 * 61, 1.0, math.inf)]), "mixed")
    rate_run(lake, run="mixed", dataset="mixed", system="trueskill")
    assert "three_way" not in evaluate(lake, "mixed").to_json()


def test_scores_between_a_draw_and_a_win__are_left_out_and_counted(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    games = [game._replace(score=0.75 if at % 5 == 0 else game.score) for at, game in enumerate(GAMES)]
    ingest_periods(lake, as_periods(games))
    rate_run(lake, run="games", dataset="league", system="elo")
    report = evaluate(lake, "games").to_json()
    row = report["three_way"]["filters"]["everyone"]
    assert row["left_out"] > 30
    assert row["games"] + row["left_out"] == report["games"]["everyone"]["games"]


def test_history__without_a_lake_has_the_scores_of_the_run(lake: Lake) -> None:
    history = Run.open(lake, "contests").read_rounds().to_pandas()
    expected = evaluate(lake, "contests", 50).to_json()["three_way"]["filters"]
    found = ranklake.evaluate_history(history, 50, system="elo")
    for name in LEAST_BEFORE:
        for score in (*SCORES, "draws_predicted", "draws_seen"):
            assert found.loc[name, score] == pytest.approx(expected[name][score], rel=1e-12)
    assert np.isnan(found.loc["top100", "log_loss3"])
    assert "log_loss3" not in ranklake.evaluate_history(history, 50)
    bins = ranklake.evaluate_history(history, 50, system="elo", by="result")
    for name in LEAST_BEFORE:
        for result, rows in expected[name]["reliability"].items():
            table = bins[(bins["filter"] == name) & (bins["result"] == result)]
            assert table["games"].tolist() == [row["games"] for row in rows]
    with pytest.raises(ValueError, match="by='result' needs the system"):
        ranklake.evaluate_history(history, by="result")
    with pytest.raises(ValueError, match="by='result' is for games, and contests of two"):
        ranklake.evaluate_history(history.assign(round_index=history["round_index"] // 2), system="elo", by="result")


def test_command__shows_three_chances_and_their_bins(invoke: Command, lake: Lake) -> None:
    shown = invoke("evaluate", "--run", "games", "--lake", lake.url).out
    assert "chances of a win, a draw and a loss" in shown
    assert shown.count("games by the chance of each result of the first player") == 2
    pair = invoke("evaluate", "--run", "contests", "--run", "trueskill", "--lake", lake.url).out
    assert "chances of a win, a draw and a loss" in pair
    assert "of the first player" not in pair
