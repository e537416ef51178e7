"""Stability of EloSRM's ratings by year."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("matplotlib")
from helpers.experiments import finding, rows, run
from twins.elo_srm import Twin

from ranklake.flows.experiments.data import History
from ranklake.flows.experiments.papers.stability import LONG, periods
from ranklake.rating_kernels import Rounds

PLAYERS, ROUNDS, DAYS = 20, 60, 25


@pytest.fixture(scope="module")
def history() -> History:
    """Players who all take part in all rounds, without learning: their skills and their noise stay the same."""
    rng = np.random.default_rng(6)
    skill = rng.normal(1500.0, 250.0, PLAYERS)
    orders = np.argsort(-(skill + rng.normal(0.0, 200.0, (ROUNDS, PLAYERS))), axis=1)
    places, times = np.tile(np.arange(PLAYERS), ROUNDS), 86_400 * DAYS * np.arange(1, ROUNDS + 1)
    rounds = Rounds.from_columns(PLAYERS * np.arange(ROUNDS + 1), orders.ravel(), places, places, times)
    handles = pa.array([f"p{i}" for i in range(PLAYERS)])
    return History("stable", ROUNDS, PLAYERS, rounds, np.arange(ROUNDS), [""] * ROUNDS, handles)


@pytest.mark.slow
def test_stability__gains_explain_the_level_and_are_those_of_the_formula(history: History) -> None:
    """With B = N = 0 the cohort's mean drifts by the mean gain K PA / (V W) and by nothing else."""
    report = run("stability", history)
    table = [row for row in rows(report, "stable") if row["row"] == "Elo"]
    years = periods(history.rounds)
    assert [row["period"] for row in table] == years.names == ["1970", "1971", "1972", "1973", "1974"]
    twin, gains = Twin(b=0.0, n_inflation=0.0), []
    for r in range(ROUNDS):
        one = history.rounds.part(r, r + 1)
        standing = [(str(player), place, place) for place, player in enumerate(one.player.tolist())]
        gains.append(np.mean([outcome.delta for outcome in twin.rate([standing])]))
    level = 1200.0
    for at, row in enumerate(table):
        here = np.array(gains)[years.of_round == at]
        assert row["mean gain"] == pytest.approx(here.mean(), abs=1e-9)
        level += here.sum()
        assert row["mean rating of the cohort"] == row["mean rating"] == pytest.approx(level, abs=1e-7)
    assert level > 1200.0  # natural inflation
    assert f"with Elo the mean rating of the cohort goes from {table[0]['mean rating']:,.0f} to" in finding(report)


def test_bonus_and_growth__move_the_level_and_not_the_order(history: History) -> None:
    assert np.bincount(history.rounds.player).min() >= LONG
    one, other = (history.rate("elo-srm", preset=name).beliefs.mu for name in ("Elo", "Elo2"))
    assert np.corrcoef(np.argsort(np.argsort(one)), np.argsort(np.argsort(other)))[0, 1] > 0.99
    assert other.mean() > one.mean() + 50.0


def test_periods__of_a_short_history_are_tenths(history: History) -> None:
    found = periods(history.rounds.part(0, 25))
    assert found.names == [f"{i} of 10" for i in range(1, 11)]
    assert set(np.bincount(found.of_round).tolist()) == {2, 3}
    assert np.all(np.diff(found.of_round) >= 0)
