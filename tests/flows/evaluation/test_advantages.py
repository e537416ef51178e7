"""Predictions of rounds with advantages: those of the strengths of their participants."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.games import as_periods, ingest_periods, league
from helpers.lakes import rate_run

from ranklake.flows.engines.serial import Serial
from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.flows.evaluation.residuals import surprises
from ranklake.flows.evaluation.tuning.trials import History, run_trial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Rounds
from ranklake.storage import Lake, Run
from ranklake.storage.datasets.tables.games import Period

H = 60.0  # points for White
PLAYERS = 40


def synthetic(n: int, seed: int = 12) -> Rounds:
    """Games of players of fixed skills on the logistic curve, in which White has the advantage; a tenth are draws."""
    draw = np.random.default_rng(seed)
    skill = draw.normal(1500.0, 150.0, PLAYERS)
    pairs = np.array([draw.choice(PLAYERS, 2, replace=False) for _ in range(n)])  # White, Black
    chance = 1.0 / (1.0 + 10.0 ** (-(skill[pairs[:, 0]] + H - skill[pairs[:, 1]]) / 400.0))
    white_wins, drawn = draw.random(n) < chance, draw.random(n) < 0.1
    first = np.where(white_wins[:, None], pairs, pairs[:, ::-1])
    half = np.where(white_wins, H / 2, -H / 2)
    lo = np.column_stack([np.zeros(n), np.where(drawn, 0, 1)]).ravel()
    hi = np.column_stack([np.where(drawn, 1, 0), np.ones(n)]).ravel()
    return Rounds.from_columns(
        np.arange(0, 2 * n + 1, 2), first.ravel(), lo, hi, np.arange(n) * 3_600,
        advantage=np.column_stack([half, -half]).ravel(),
    )  # fmt: skip


def periods(games: list[Period], advantage: float) -> list[Period]:
    return [
        replace(one, games=replace(one.games, advantage=np.full(len(one.games.weight), advantage))) for one in games
    ]


def games_of(rounds: Rounds) -> list[Period]:
    """The same games as periods of a day, without their advantages."""
    one, drawn = rounds.player.reshape(-1, 2), rounds.lo[1::2] == 0
    white_first = rounds.advantage[::2] > 0
    games = league(len(rounds), PLAYERS, days=len(rounds) // 20)
    white, black = np.where(white_first[:, None], one, one[:, ::-1]).T
    score = np.where(drawn, 0.5, np.where(white_first, 1.0, 0.0))
    made = [
        game._replace(white=f"p{white[i]}", black=f"p{black[i]}", score=float(score[i]), weight=1.0)
        for i, game in enumerate(games)
    ]
    return as_periods(made)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Runs over the same games with and without the advantage."""
    lake = Lake.open(tmp_path_factory.mktemp("advantages") / "lake", create=True)
    games = games_of(synthetic(3_000))
    ingest_periods(lake, games, "without")
    ingest_periods(lake, periods(games, H), "with")
    for system in ("elo", "glicko2", "elo-mmr"):
        for name in ("without", "with"):
            rate_run(lake, run=f"{system}-{name}", dataset=name, system=system)
    return lake


@pytest.mark.parametrize("system", ["elo", "glicko2", "elo-mmr"])
def test_evaluate__predicts_games_better_with_their_advantage(lake: Lake, system: str) -> None:
    one, other = (evaluate(lake, f"{system}-{name}").to_json() for name in ("with", "without"))
    found, plain = one["games"]["experienced"], other["games"]["experienced"]
    assert found["games"] == plain["games"] > 2_000
    # between equals E = 0.585 in place of 1/2 saves 0.02 bits, in draws and between unequals less
    assert plain["cross_entropy"] - found["cross_entropy"] > 0.005
    assert found["squared_error"] < plain["squared_error"]
    metric = one["filters"]["experienced"]["pair_inversion"], other["filters"]["experienced"]["pair_inversion"]
    assert metric[0] != metric[1]


def test_evaluate__has_the_chance_of_the_shifted_difference(lake: Lake) -> None:
    """Elo's expectancy by hand, from the ratings that the run has stored."""
    rows = Run.open(lake, "elo-with").read_rounds().to_pylist()
    rounds = synthetic(3_000)
    squares = []
    for i, (first, second) in enumerate(zip(rows[::2], rows[1::2], strict=True)):
        ahead = H if rounds.advantage[2 * i] > 0 else -H
        if first["lo"] == second["lo"]:
            ahead = H  # a draw is stored with White first
        score = 0.5 if first["lo"] == second["lo"] else 1.0
        expected = 1.0 / (1.0 + 10.0 ** (-(first["mu_prior"] - second["mu_prior"] + ahead) / 400.0))
        if min(first["n_before"], second["n_before"]) >= 1:
            squares.append((score - expected) ** 2)
    found = evaluate(lake, "elo-with").to_json()["games"]["everyone"]
    assert found["squared_error"] == pytest.approx(sum(squares) / len(squares), rel=1e-9)


def races(n: int, seed: int = 6) -> Rounds:
    """Rounds of all players, half of whom start 150 points ahead."""
    draw = np.random.default_rng(seed)
    skill, players, advantages = draw.normal(1500.0, 150.0, PLAYERS), [], []
    for _ in range(n):
        field, ahead = draw.permutation(PLAYERS), np.repeat([75.0, -75.0], PLAYERS // 2)
        order = np.argsort(-(skill[field] + ahead + draw.logistic(0.0, 120.0, PLAYERS)))
        players.append(field[order])
        advantages.append(ahead[order])
    places = np.tile(np.arange(PLAYERS), n)
    return Rounds.from_columns(PLAYERS * np.arange(n + 1), np.concatenate(players), places, places,
                               np.arange(n) * 3_600, advantage=np.concatenate(advantages))  # fmt: skip


@pytest.mark.parametrize(("metric", "rounds"), [("pair_inversion", synthetic(2_000)), ("rank_information", races(150))])
def test_tune__scores_strengths(metric: str, rounds: Rounds) -> None:
    without = replace(rounds, advantage=rounds.advantage[:0])
    found, plain = (run_trial(History(each, PLAYERS), "elo-mmr", {}, metric, "everyone") for each in (rounds, without))
    assert found.scores[metric] > plain.scores[metric]


@pytest.mark.parametrize("name", ["elo-mmr", "elo"])
def test_surprises__are_those_of_shifted_beliefs(name: str) -> None:
    """One round: the surprise of a game with an advantage is that of shifted ratings."""
    system = SYSTEMS[name]
    params, half = system.params(), np.array([H / 2, -H / 2])
    measured = []
    for advantage, mu in ((half, [1500.0, 1500.0]), (None, 1500.0 + half)):
        beliefs = system.newcomers(params, 2)
        beliefs.mu[:] = mu
        for column, values in system.state(params, beliefs.mu[:2].copy(), beliefs.sigma[:2].copy()).items():
            beliefs.state[column][:] = values
        rounds = Rounds.from_columns([0, 2], [0, 1], [0, 1], [0, 1], advantage=advantage)
        outcome = rate_rounds(system, params, beliefs, rounds, Serial())
        measured.append(surprises(system, params, rounds, outcome))
    assert measured[0].surprise.tolist() == pytest.approx(measured[1].surprise.tolist(), abs=1e-9)
    assert measured[0].level.tolist() == [1500.0, 1500.0]


def test_lake__of_games_without_advantage_has_the_scores_of_zeros(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    games = as_periods(league(120))
    ingest_periods(lake, games, "without")
    ingest_periods(lake, periods(games, 0.0), "zeros")
    for name in ("without", "zeros"):
        rate_run(lake, run=name, dataset=name, system="elo")
    one, other = (evaluate(lake, name).to_json() for name in ("without", "zeros"))
    assert one["games"] == other["games"]
    assert one["filters"] == other["filters"]
