"""How the constants of EloSRM were found."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("matplotlib")
from helpers.experiments import finding, rows, run
from helpers.lakes import synthetic, to_rounds

from ranklake.flows.experiments.data import History
from ranklake.flows.experiments.papers import convergence
from ranklake.flows.experiments.papers.constants import Constants, Trials, least, lowest
from ranklake.flows.experiments.papers.srm import score_history
from ranklake.flows.experiments.papers.srm_figures import _CONSTANTS, curve, rank_performance, relative_performance
from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.systems.elo_srm import PRESETS


def history_of(rounds: Rounds, n_players: int) -> History:
    n = len(rounds)
    handles = pa.array([f"p{i}" for i in range(n_players)])
    return History("made", n, rounds.n_rows / n, rounds, np.arange(n), [""] * n, handles)


def school(
    seed: int,
    n_players: int = 700,
    n_rounds: int = 260,
    size: int = 60,
    growth: float = 1.2,
    learnt: float = 250.0,
    pace: float = 15.0,
    spread: float = 280.0,
) -> History:
    """Players who arrive over time, each stronger by ``growth`` than those a round before at their start, and learn
    ``learnt`` points, two thirds of them in ``pace`` rounds.
    """
    rng = np.random.default_rng(seed)
    arrival = np.sort(rng.integers(0, n_rounds - 20, n_players))
    arrival[:80] = 0
    start, played = rng.normal(1200.0, spread, n_players) + growth * arrival, np.zeros(n_players)
    orders = []
    for r in range(n_rounds):
        field = rng.permutation(np.flatnonzero((arrival <= r) & (arrival > r - 120)))[:size]
        skill = start[field] + learnt * (1.0 - np.exp(-played[field] / pace))
        orders.append(field[np.argsort(-(skill + rng.normal(0.0, 250.0, len(field))))])
        played[field] += 1
    sizes = [len(order) for order in orders]
    places = np.concatenate([np.arange(n) for n in sizes])
    times = 86_400 * np.arange(1, n_rounds + 1)
    return history_of(
        Rounds.from_columns(np.cumsum([0, *sizes]), np.concatenate(orders), places, places, times), n_players
    )


@pytest.mark.slow
def test_srm_figures__have_minima_inside_their_grids() -> None:
    """The curve of C is flat where all have the same number of rounds: it only has to fall from 0 on."""
    rounds, _ = convergence.league(3, 300, 40, 35.0)
    report = run("srm-figures", history_of(rounds, 300))
    points = rows(report, "made-curves")
    found = {row["constant"]: row for row in rows(report, "made-minima")}
    for name in ("K", "alpha", "M"):
        grid = [row["value"] for row in points if row["constant"] == name]
        assert grid[0] < found[name]["best"] < grid[-1], name
    assert found["C"]["best"] >= 2.0
    errors = [row["error"] for row in found.values()]
    assert all(after <= before + 1e-5 for before, after in pairwise(errors))
    assert [row["error, printed"] for row in found.values()] == [0.7908, 0.7784, 0.7562, 0.7536, 0.7513, 0.7511, 0.7497]
    assert "the best constants are K " in finding(report)
    assert len(report.pictures) == 3


@pytest.mark.slow
def test_trials__prefer_a_growing_initial_rating_where_newcomers_become_stronger() -> None:
    """And the more the initial rating grows, the larger the bonus that fits (section 3.9)."""
    trials = Trials(school(1))
    constants = Constants(430.0, 0.5, 4.0, 6.75)
    (still, error), (growing, less) = (trials.best(constants._replace(n=n), "k", "b") for n in (0.0, 100.0))
    assert less < error - 5e-4
    assert growing.b > still.b + 10.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["B", "N"])
def test_curves__of_bonus_and_growth_have_minima_inside_their_grids(name: str) -> None:
    """Where players learn for long, and newcomers become a little stronger; the other constants are tested above."""
    trials = Trials(school(2, 260, 120, 40, growth=0.1, learnt=400.0, pace=40.0, spread=200.0))
    (constant,) = (one for one in _CONSTANTS if one.name == name)
    with ThreadPoolExecutor(2) as pool:
        found = curve(trials, constant, pool)
    best, error = lowest(constant.grid, [error for _, error in found])
    assert constant.grid[0] < best < constant.grid[-1]
    assert error < min(found[0][1], found[-1][1])


@pytest.mark.quick("Elo2")
@pytest.mark.parametrize("preset", ["initial", "W", "Elo2"])
def test_trials__have_the_errors_that_evaluate_has(preset: str) -> None:
    rounds, handles = to_rounds(synthetic(60, spice=False))
    history = history_of(rounds, len(handles))
    named = PRESETS[preset]
    constants = Constants(named["k"], named["alpha"], named["c"], named["m"], named["b"], named["n_inflation"])
    expected = score_history(history.rate("elo-srm", preset=preset), preset).rank_errors()[0].error
    assert Trials(history).error(constants) == pytest.approx(expected, rel=1e-12)


def test_trials__use_the_first_rounds_of_a_long_history(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, handles = to_rounds(synthetic(30, spice=False))
    monkeypatch.setattr("ranklake.flows.experiments.papers.constants.TRIED_ROWS", int(rounds.offsets[12]))
    trials = Trials(history_of(rounds, len(handles)))
    assert len(trials.rounds) == 12


def test_least__finds_a_minimum_far_from_its_start() -> None:
    for middle in (0.3, 4.0, -7.0):
        calls = []

        def of(x: float, centre: float = middle, calls: list[float] = calls) -> float:
            calls.append(x)
            return math.cosh(0.3 * (x - centre))

        x, value = least(of, 0.0, 0.8)
        assert x == pytest.approx(middle, abs=1e-3)
        assert value == pytest.approx(1.0, abs=1e-6)
        assert len(calls) < 25
    assert lowest([0.0, 1.0, 2.0, 3.0], [4.25, 1.25, 0.25, 1.25]) == pytest.approx((2.0, 0.25))
    assert lowest([0.0, 1.0, 2.0], [1.0, 2.0, 3.0]) == (0.0, 1.0)
    assert lowest([0.0, 1.0, math.inf], [3.0, 1.0, 2.0]) == (1.0, 1.0)


def test_performance__counts_wins_in_a_tournament() -> None:
    """Equations 1 to 4, 8 and 10 of the document."""
    n = np.arange(1, 12)
    assert np.array_equal(rank_performance(2.0**n, 1.0), n)
    assert np.allclose(rank_performance(n, 2.0), rank_performance(n, 1.0) - 1.0)
    assert np.allclose(rank_performance(3.0 * n, 3.0), rank_performance(n, 1.0))
    assert relative_performance(8.0, 2.0) == 2.0
    assert sum(relative_performance(a, b) for a, b in ((3.0, 5.0), (5.0, 11.0), (11.0, 3.0))) == pytest.approx(0.0)
