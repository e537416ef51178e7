"""Evaluation of runs over periods of games: sums over games, which are those of one contest a game."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import Command
from helpers.games import as_contests, as_periods, ingest_periods, league
from helpers.lakes import copy_of, ingest, often, rate_run

from ranklake.flows.evaluation import evaluate as module
from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.flows.evaluation.evaluations import half_width
from ranklake.flows.evaluation.games import LEAST_BEFORE
from ranklake.flows.evaluation.scores import METRICS, PER_ROUND, SUMMED
from ranklake.rating_kernels import SYSTEMS as SYSTEM_OF
from ranklake.rating_kernels.core.system import Prior
from ranklake.storage import Lake, LakeError, Run

OFTEN = often(segment_rows=60)

GAMES = league(300, n_players=12)
PERIODS = as_periods(GAMES)
SYSTEMS = ("elo", "elo-mmr", "glicko2")  # the last two have laws of performances that depend on weights


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake with runs over periods of games, and over one contest a game."""
    lake = Lake.open(tmp_path_factory.mktemp("games") / "lake", create=True)
    ingest_periods(lake, PERIODS)
    ingest(lake, as_contests(GAMES), "contests")
    for system in SYSTEMS:
        rate_run(lake, run=f"{system}-periods", dataset="league", system=system, policy=OFTEN)
        rate_run(lake, run=f"{system}-contests", dataset="contests", system=system, policy=OFTEN)
    return lake


@pytest.mark.parametrize("system", SYSTEMS)
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
        for metric in SUMMED[:-1]:
            assert np.allclose(scores.sums[metric], np.add.reduceat(games.sums[metric], bounds[:-1]), rtol=1e-13)
        for metric in PER_ROUND:
            of_games = [games.values[metric][a:b] for a, b in pairwise(bounds)]
            assert np.allclose(scores.per_round(metric), [np.nanmean(part) for part in of_games], rtol=1e-13)
    assert np.allclose(found.errors, np.add.reduceat(expected.errors, bounds[:-1]), rtol=1e-12)


@pytest.mark.parametrize("system", SYSTEMS)
def test_results__are_scored_by_the_chance_of_a_win(lake: Lake, system: str) -> None:
    found = evaluate(lake, f"{system}-periods").to_json()["games"]
    rows = Run.open(lake, f"{system}-periods").read_rounds().to_pylist()
    params = SYSTEM_OF[system].params()
    for name, least in LEAST_BEFORE.items():
        squares, bits, draws = [], [], 0
        for game, one, other in zip(GAMES, rows[::2], rows[1::2], strict=True):
            if min(one["n_before"], other["n_before"]) < least:
                continue
            first, second = (Prior(*map(np.array, ([row["mu_prior"]], [row["sigma_prior"]], [np.nan], [1])))
                             for row in (one, other))  # fmt: skip
            chance = float(SYSTEM_OF[system].beats(params, game.weight, 2, first, second)[0])
            score = 0.5 if one["lo"] < one["hi"] else 1.0
            draws += score == 0.5
            squares.append((score - chance) ** 2)
            bits.append(-score * math.log2(chance) - (1 - score) * math.log2(1 - chance))
        n = len(bits)
        means = {"draws": draws / n, "squared_error": sum(squares) / n, "cross_entropy": sum(bits) / n}
        assert found[name] == pytest.approx({"games": n} | means, rel=1e-12)
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
    assert set(METRICS) < set(table.column_names)
    assert list(evaluation.by_size("everyone")) == ["2-16"]


def test_interval__of_two_runs_is_that_of_the_sums(lake: Lake) -> None:
    one, other = (evaluate(lake, f"{system}-periods").filters["everyone"] for system in SYSTEMS[:2])
    for metric in ("cross_entropy", "kendall_tau_b"):
        assert 0.0 < half_width(one, other, metric) < 5.0


def test_evaluation__of_another_set_of_games_is_refused(lake: Lake, tmp_path: Path) -> None:
    copied = copy_of(lake, tmp_path / "lake")
    changed = [GAMES[0]._replace(white="late"), *GAMES[1:]]
    ingest_periods(copied, as_periods(changed))
    says = f"period {PERIODS[0].contest_id} of data set league has other games than run elo-mmr-periods; `ranklake rate"
    with pytest.raises(LakeError, match=says):
        evaluate(copied, "elo-mmr-periods")
