"""Evaluation of runs over periods of games: sums over games, as of one contest a game, and with advantages."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import Command
from helpers.games import as_contests, as_periods, ingest_periods, league
from helpers.lakes import copy_of, ingest, often, rate_run

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.task_pool import open_task_pool
from ranklake.flows.entrants.scores import EACH_ROUND, PER_ROUND
from ranklake.flows.evaluation import evaluate as module
from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.flows.evaluation.evaluations import half_width
from ranklake.flows.evaluation.games import LEAST_BEFORE
from ranklake.flows.evaluation.residuals import surprises
from ranklake.flows.evaluation.tuning.history import TrialRounds
from ranklake.flows.evaluation.tuning.record import TuningConfig
from ranklake.flows.evaluation.tuning.trials import run_trial
from ranklake.flows.evaluation.tuning.tune import tune
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Rounds
from ranklake.rating_kernels.core.standings import Conditions
from ranklake.rating_kernels.core.system import Prior
from ranklake.rating_kernels.metrics.metrics import PER_ROW
from ranklake.storage import Lake, LakeError, Run
from ranklake.storage.datasets.tables.games import Period

OFTEN = often(segment_rows=60)

GAMES = league(300, n_players=12)
PERIODS = as_periods(GAMES)
NAMES = ("elo", "elo-mmr", "glicko2")  # the last two have laws of performances that depend on weights


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake with runs over periods of games, and over one contest a game."""
    lake = Lake.open(tmp_path_factory.mktemp("games") / "lake", create=True)
    ingest_periods(lake, PERIODS)
    ingest(lake, as_contests(GAMES), "contests")
    for system in NAMES:
        rate_run(lake, run=f"{system}-periods", dataset="league", system=system, policy=OFTEN)
        rate_run(lake, run=f"{system}-contests", dataset="contests", system=system, policy=OFTEN)
    return lake


@pytest.mark.quick("2-glicko2")
@pytest.mark.parametrize("system", NAMES)
@pytest.mark.parametrize("skipped", [0, 2])
def test_scores__of_periods_are_sums_over_games(lake: Lake, system: str, skipped: int) -> None:
    first = sum(map(len, PERIODS[:skipped]))
    found, expected = evaluate(lake, f"{system}-periods", skipped), evaluate(lake, f"{system}-contests", first)
    bounds = np.cumsum([0, *map(len, PERIODS[skipped:])])
    assert len(found) == len(PERIODS) - skipped
    assert found.n_players.tolist() == [2] * len(found)
    for name, scores in found.filters.items():
        games = expected.filters[name]
        assert np.array_equal(scores.weight, np.add.reduceat(games.weight, bounds[:-1]))
        assert scores.summary() == pytest.approx(games.summary(), rel=1e-13, nan_ok=True)
        assert scores.experience().keys() == games.experience().keys()
        for metric in PER_ROW:
            assert np.allclose(scores.sums[metric], np.add.reduceat(games.sums[metric], bounds[:-1]), rtol=1e-13)
        for metric in PER_ROUND:
            of_games = [games.values[metric][a:b] for a, b in pairwise(bounds)]
            assert np.allclose(scores.per_round(metric), [np.nanmean(part) for part in of_games], rtol=1e-13)
    assert np.allclose(found.errors, np.add.reduceat(expected.errors, bounds[:-1]), rtol=1e-12)


def test_scores_between_a_draw_and_a_win__are_compared_as_they_are(tmp_path: Path) -> None:
    lake, games = Lake.open(tmp_path / "lake", create=True), [
        game._replace(score=(game.time_seconds % 65) / 64, weight=1.0) for game in GAMES
    ]  # fmt: skip
    ingest_periods(lake, as_periods(games))
    rule = (
        "game 1, of 'p.*' against 'p.*' at .*, has the score .*, and elo-mmr rates wins, draws and losses only; elo, "
    )
    with pytest.raises(ValueError, match=f"data set league, period period-1000: {rule}"):
        rate_run(lake, run="refused", dataset="league", system="elo-mmr", policy=OFTEN)
    config = TuningConfig("league", "elo-mmr", ("rho=1",))
    with open_task_pool(1) as pool, pytest.raises(ValueError, match=f"data set league, period period-1000: {rule}"):
        tune(lake, config, pool, config.proposals())
    assert Run.names(lake) == []
    rate_run(lake, run="fractional", dataset="league", system="elo", policy=OFTEN)
    rows, params = Run.open(lake, "fractional").read_rounds().to_pylist(), SYSTEMS["elo"].params()
    squares, bits = [], []
    for game, one, other in zip(games, rows[::2], rows[1::2], strict=True):
        score = max(game.score, 1.0 - game.score)
        chance = 1.0 / (1.0 + 10.0 ** ((other["mu_prior"] - one["mu_prior"]) / params.n))
        if min(one["n_before"], other["n_before"]) >= LEAST_BEFORE["everyone"]:
            squares.append((score - chance) ** 2)
            bits.append(-score * math.log2(chance) - (1.0 - score) * math.log2(1.0 - chance))
    found = evaluate(lake, "fractional").to_json()["games"]["everyone"]
    assert found["squared_error"] == pytest.approx(np.mean(squares), rel=1e-9)
    assert found["cross_entropy"] == pytest.approx(np.mean(bits), rel=1e-9)


@pytest.mark.parametrize("system", NAMES)
def test_results__are_scored_by_the_chance_of_a_win(lake: Lake, system: str) -> None:
    report = evaluate(lake, f"{system}-periods").to_json()
    found = report["games"]
    rows = Run.open(lake, f"{system}-periods").read_rounds().to_pylist()
    params = SYSTEMS[system].params()
    for name, least in LEAST_BEFORE.items():
        squares, bits, draws = [], [], 0
        for game, one, other in zip(GAMES, rows[::2], rows[1::2], strict=True):
            if min(one["n_before"], other["n_before"]) < least:
                continue
            first, second = (Prior(*map(np.array, ([row["mu_prior"]], [row["sigma_prior"]], [np.nan], [1])))
                             for row in (one, other))  # fmt: skip
            chance = float(SYSTEMS[system].beats(params, Conditions(game.weight), 2, first, second)[0])
            score = 0.5 if one["lo"] < one["hi"] else 1.0
            draws += score == 0.5
            squares.append((score - chance) ** 2)
            bits.append(-score * math.log2(chance) - (1 - score) * math.log2(1 - chance))
        n = len(bits)
        means = {"draws": draws / n, "squared_error": sum(squares) / n, "cross_entropy": sum(bits) / n}
        assert found[name] == pytest.approx({"games": n} | means, rel=1e-12)
        of_pairs = report["filters"][name]
        assert (of_pairs["brier"], of_pairs["own_cross_entropy"]) == tuple(list(found[name].values())[2:])
        assert sum(row["pairs"] for row in report["reliability"][name]) == n
    assert "games" not in evaluate(lake, f"{system}-contests").to_json()


def test_command__shows_the_results_of_games(invoke: Command, lake: Lake) -> None:
    shown = invoke("evaluate", "--run", "elo-periods", "--run", "glicko2-periods", "--lake", lake.url).out
    assert "results of games, draws included" in shown


def test_draws__predict_no_order(lake: Lake) -> None:
    seen: set[str] = set()
    weight = 0
    for game in GAMES:
        players = {game.white, game.black}
        weight += 2 * (game.score != 0.5 and players <= seen)
        seen |= players
    assert evaluate(lake, "elo-periods").filters["everyone"].weight.sum() == weight


def test_evaluation__has_the_same_bits_for_any_number_of_threads_and_piece_size(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = evaluate(lake, "elo-mmr-periods").to_json()
    monkeypatch.setattr(module, "_PIECE_ROWS", 1)
    assert evaluate(lake, "elo-mmr-periods", workers=2).to_json() == expected


def test_table__has_a_row_a_period_and_a_filter(lake: Lake) -> None:
    evaluation = evaluate(lake, "elo-periods")
    table = evaluation.to_table()
    assert table.num_rows == 3 * len(PERIODS)
    assert table.column("contest_id").to_pylist()[: len(PERIODS)] == [period.contest_id for period in PERIODS]
    assert set(EACH_ROUND) < set(table.column_names)
    assert list(evaluation.by_size("everyone")) == ["2-16"]


def test_interval__of_two_runs_is_that_of_the_sums(lake: Lake) -> None:
    one, other = (evaluate(lake, f"{system}-periods").filters["everyone"] for system in NAMES[:2])
    for metric in ("cross_entropy", "kendall_tau_b"):
        assert 0.0 < half_width(one, other, metric) < 5.0


def test_evaluation__of_another_set_of_games_is_refused(lake: Lake, tmp_path: Path) -> None:
    copied = copy_of(lake, tmp_path / "lake")
    changed = [GAMES[0]._replace(white="late"), *GAMES[1:]]
    ingest_periods(copied, as_periods(changed))
    says = f"period {PERIODS[0].contest_id} of data set league has other games than run elo-mmr-periods; `ranklake rate"
    with pytest.raises(LakeError, match=says):
        evaluate(copied, "elo-mmr-periods")


# Advantages


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
def advantaged(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Runs over the same games with and without the advantage."""
    lake = Lake.open(tmp_path_factory.mktemp("advantages") / "lake", create=True)
    games = games_of(synthetic(3_000))
    ingest_periods(lake, games, "without")
    ingest_periods(lake, periods(games, H), "with")
    for system in NAMES:
        for name in ("without", "with"):
            rate_run(lake, run=f"{system}-{name}", dataset=name, system=system)
    return lake


@pytest.mark.slow
@pytest.mark.parametrize("system", NAMES)
def test_evaluate__predicts_games_better_with_their_advantage(advantaged: Lake, system: str) -> None:
    one, other = (evaluate(advantaged, f"{system}-{name}").to_json() for name in ("with", "without"))
    found, plain = one["games"]["experienced"], other["games"]["experienced"]
    assert found["games"] == plain["games"] > 2_000
    # between equals E = 0.585 in place of 1/2 saves 0.02 bits, in draws and between unequals less
    assert plain["cross_entropy"] - found["cross_entropy"] > 0.005
    assert found["squared_error"] < plain["squared_error"]
    metric = one["filters"]["experienced"]["pair_inversion"], other["filters"]["experienced"]["pair_inversion"]
    assert metric[0] != metric[1]


def test_evaluate__has_the_chance_of_the_shifted_difference(advantaged: Lake) -> None:
    """Elo's expectancy by hand, from the ratings that the run has stored."""
    rows = Run.open(advantaged, "elo-with").read_rounds().to_pylist()
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
    found = evaluate(advantaged, "elo-with").to_json()["games"]["everyone"]
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
    found, plain = (
        run_trial(TrialRounds(each, PLAYERS), "elo-mmr", {}, metric, "everyone") for each in (rounds, without)
    )
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
