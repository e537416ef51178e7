"""Estimates of hyperparameters: from drawn performances, and from the ranks of histories with known hyperparameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.rating_kernels import ConvergenceError, Rounds
from ranklake.rating_kernels.smoothing import estimation
from ranklake.rating_kernels.smoothing.estimation import estimate
from ranklake.rating_kernels.smoothing.evidence import Evidence
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.smoothing.sweeps import Smoother

TRUTH = Smoothing(beta=200.0, gamma=25.0, drift_per_day=15.0, practice=8.0)


def drawn(
    params: Smoothing, n_rounds: int, sizes: tuple[int, int], n_players: int, active: int, seed: int = 5
) -> tuple[Rounds, np.ndarray]:
    """Rounds from a model, and the performances behind the places: ``active`` players at a time, newcomers always."""
    draw = np.random.default_rng(seed)
    counts, time = draw.integers(*sizes, n_rounds), np.cumsum(draw.integers(0, 864_000, n_rounds))
    skill, n_before, last = draw.normal(0.0, params.sigma_init, n_players), np.zeros(n_players), np.zeros(n_players)
    player, perf = [], []
    for r, n in enumerate(counts):
        p = (n_players - active) * r // n_rounds + draw.permutation(active)[:n]
        again = n_before[p] > 0
        days = np.where(again, time[r] - last[p], 0.0) / 86_400
        growth = params.practice * (1.0 - 2.0 / n) / (1.0 + n_before[p] / params.practice_rounds)
        step = draw.normal(0.0, np.sqrt(params.gamma**2 + params.drift_per_day * days)) + growth
        skill[p] += again * step
        n_before[p] += 1
        last[p] = time[r]
        shown = skill[p] + draw.normal(0.0, params.beta, n)
        order = np.argsort(-shown)
        player.append(p[order])
        perf.append(shown[order])
    places = np.concatenate([np.arange(n) for n in counts])
    offsets = np.concatenate(([0], np.cumsum(counts)))
    return Rounds.from_columns(offsets, np.concatenate(player), places, places, time), np.concatenate(perf)


def steps(rounds: Rounds, n: int, params: Smoothing | None = None, engine=None) -> Smoothing:
    """The hyperparameters after ``n`` steps."""
    params = params or Smoothing()
    for _ in range(n):
        smoother = Smoother(params, rounds, int(rounds.player.max()) + 1, (engine or Serial()).map)
        while not smoother.converged:
            smoother.sweep()
        params = smoother.estimate()
    return params


def evidence(rounds: Rounds, perf: np.ndarray) -> Evidence:
    smoother = Smoother(Smoothing(), rounds, int(rounds.player.max()) + 1)
    sizes, map = np.diff(rounds.offsets), Serial().map
    return Evidence(sizes, smoother._rows, smoother._model, rounds.weight, perf, 20.0, 350.0, map)


def assert_near(params: Smoothing, truth: Smoothing, share: float, practice: float) -> None:
    """Noise, and drift in the 16 days between two rounds of a player, within ``share``; practice within points."""
    assert params.beta == pytest.approx(truth.beta, rel=share)
    drift, true_drift = ((each.gamma**2 + 16.0 * each.drift_per_day) ** 0.5 for each in (params, truth))
    assert drift == pytest.approx(true_drift, rel=share)
    assert params.practice == pytest.approx(truth.practice, abs=practice)


def test_estimate__from_the_performances_themselves_finds_their_hyperparameters() -> None:
    rounds, perf = drawn(TRUTH, 150, (60, 100), 1200, 300)
    assert_near(estimate(Smoothing(), evidence(rounds, perf)), TRUTH, 0.05, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "share"),
    [
        (TRUTH, 0.1),
        (replace(TRUTH, gamma=60.0, drift_per_day=0.0, practice=0.0), 0.1),
        (replace(TRUTH, gamma=0.0, drift_per_day=40.0, practice=15.0), 0.1),
        (replace(TRUTH, beta=100.0), 0.1),
    ],
)
@pytest.mark.parametrize("start", [Smoothing(), Smoothing(beta=400.0, gamma=100.0, drift_per_day=0.0, practice=0.0)])
def test_estimate__recovers_the_hyperparameters_of_a_history_from_its_ranks(
    truth: Smoothing, share: float, start: Smoothing
) -> None:
    rounds, _ = drawn(truth, 200, (60, 120), 1500, 300)
    found = steps(rounds, 4, start)
    assert_near(found, truth, share, 2.0)
    again = steps(rounds, 1, found)
    assert_near(again, found, 0.01, 0.1)  # a fixed point


def test_estimate__has_the_same_bits_however_the_work_is_cut() -> None:
    rounds, _ = drawn(TRUTH, 12, (30, 50), 100, 60)
    expected = steps(rounds, 1)
    with Threads(3, 5) as engine:
        assert steps(rounds, 1, engine=engine) == expected != Smoothing()


def test_estimate__keeps_practice_if_all_play_every_round() -> None:
    """Nobody is new, so that a common growth cannot be seen."""
    rounds, _ = drawn(TRUTH, 12, (40, 41), 40, 40)
    assert steps(rounds, 1).practice == Smoothing().practice


def test_estimate__keeps_the_drift_of_days_without_times() -> None:
    rounds, _ = drawn(TRUTH, 12, (40, 50), 100, 60)
    timeless = Rounds.from_columns(rounds.offsets, rounds.player, rounds.lo, rounds.hi, np.zeros(len(rounds)))
    found = steps(timeless, 1)
    assert found.drift_per_day == Smoothing().drift_per_day
    assert found.gamma != Smoothing().gamma


def test_estimate__keeps_what_is_not_asked_for() -> None:
    rounds, perf = drawn(TRUTH, 20, (40, 50), 200, 60)
    found = estimate(Smoothing(), evidence(rounds, perf), ("gamma",))
    assert (found.drift_per_day, found.practice) == (Smoothing().drift_per_day, Smoothing().practice)
    assert found.gamma != Smoothing().gamma
    assert found.beta != Smoothing().beta
    assert (found.sigma_init, found.mu_init) == (350.0, 1500.0)


def test_estimate__has_the_noise_of_duels_as_given_and_places_of_large_rounds_as_exact() -> None:
    rounds, _ = drawn(TRUTH, 12, (40, 50), 100, 60)
    given = Smoothing(duel=3.0, resolution="rank")
    usual, found = steps(rounds, 1), steps(rounds, 1, given)
    assert (found.duel, found.resolution) == (3.0, "rank")
    wider = 1.0 + 2.0 * 2.0 / np.diff(rounds.offsets).mean()  # the performances are the same, and so is their noise
    assert found.beta * wider == pytest.approx(usual.beta, rel=0.03)


def test_estimate__doubles_with_the_unit() -> None:
    rounds, perf = drawn(TRUTH, 40, (40, 60), 300, 80)
    one = estimate(Smoothing(), evidence(rounds, perf))
    other = estimate(Smoothing(sigma_init=700.0), evidence(rounds, perf))
    assert other.beta == pytest.approx(2.0 * one.beta, rel=1e-3)
    assert other.gamma == pytest.approx(2.0 * one.gamma, rel=0.01)


def test_estimate__reports_a_maximum_that_is_not_reached(monkeypatch) -> None:
    monkeypatch.setattr(estimation, "_STEPS", 1)
    rounds, perf = drawn(TRUTH, 20, (40, 50), 200, 60)
    with pytest.raises(ConvergenceError, match="no maximum of the evidence for hyperparameters in 1 steps"):
        estimate(Smoothing(beta=1000.0), evidence(rounds, perf))
