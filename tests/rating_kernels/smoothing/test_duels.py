"""Duels, several at a time: pairwise sums as a twin, and bits that do not depend on the other duels."""

from __future__ import annotations

import numpy as np
import pytest
from twins.elo_mmr import Twin

from ranklake.flows.engines.serial import Serial
from ranklake.rating_kernels import ConvergenceError, Rounds
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.smoothing.sweeps import solve_performances


def duels(n: int, ceiling: float | None = None) -> tuple[Rounds, np.ndarray, np.ndarray]:
    """Duels, a third of them ties, and means and variances of beliefs: close ones, usual ones, and far ones."""
    draw = np.random.default_rng(1)
    tied = draw.random(n) < 0.3
    lo = np.stack([np.zeros(n), ~tied], axis=1).astype(np.int32).ravel()
    hi = np.stack([tied, np.ones(n)], axis=1).astype(np.int32).ravel()
    ceilings = None if ceiling is None else np.full(n, ceiling)
    rounds = Rounds.from_columns(np.arange(n + 1) * 2, np.tile([0, 1], n), lo, hi, perf_ceiling=ceilings)
    mean = draw.normal(0.0, 1.0, 2 * n) * draw.choice([10.0, 300.0, 4000.0], n).repeat(2)
    return rounds, mean, draw.uniform(20.0, 350.0, 2 * n) ** 2


def solved(rounds: Rounds, mean: np.ndarray, variance: np.ndarray, params: Smoothing, block: int | None = None):
    perf = np.empty(rounds.n_rows)
    with Serial(block) as engine:
        solve_performances(params, rounds, engine.map, mean, variance, perf)
    return perf


@pytest.mark.parametrize("tie_mode", ["full", "split"])
def test_duels__have_the_performances_of_pairwise_sums(tie_mode: str) -> None:
    rounds, mean, variance = duels(203)
    twin = Twin(beta=160.0, gamma=1.0, tie_mode=tie_mode)
    field = list(zip(mean.tolist(), np.sqrt(variance + 160.0**2).tolist(), strict=True))
    places = zip(rounds.lo.tolist(), rounds.hi.tolist(), strict=True)
    expected = [twin._performance(field[i // 2 * 2 : i // 2 * 2 + 2], *place) for i, place in enumerate(places)]
    perf = solved(rounds, mean, variance, Smoothing(tie_mode=tie_mode))
    np.testing.assert_allclose(perf, expected, rtol=1e-12, atol=1e-9)


def test_duels__do_not_depend_on_those_solved_with_them() -> None:
    rounds, mean, variance = duels(100)
    whole = solved(rounds, mean, variance, Smoothing())
    for block in (1, 7, 34):
        assert solved(rounds, mean, variance, Smoothing(), block).tobytes() == whole.tobytes()


def test_duels__keep_to_the_ceiling() -> None:
    rounds, mean, variance = duels(50, 1600.0)
    free = solved(duels(50)[0], mean, variance, Smoothing())
    assert np.array_equal(solved(rounds, mean, variance, Smoothing()), np.minimum(free, 100.0))


def test_duels__without_a_root_are_reported() -> None:
    rounds, mean, variance = duels(20)
    mean[26] = np.nan
    with pytest.raises(ConvergenceError, match="no performance found") as caught:
        solved(rounds, mean, variance, Smoothing())
    assert caught.value.row == 26
