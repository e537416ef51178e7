"""Smoothing across resets: the exact inverse of the precision matrix of skills with these transitions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from helpers.rounds import history
from twins.elo_mms import Law
from twins.smoothing import joint, skewed_mode

from ranklake.flows.engines.threads import Threads
from ranklake.rating_kernels import Reset, Rounds
from ranklake.rating_kernels.core.beliefs import serial_map
from ranklake.rating_kernels.smoothing.dates import Moment, Path, difference
from ranklake.rating_kernels.smoothing.evidence import LEVELS, Evidence
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.smoothing.sweeps import Smoothed, Smoother
from ranklake.rating_kernels.smoothing.transitions import RoundReset

N = 9
PARAMS = Smoothing(practice=9.0)
SKEWED = Smoothing(beta=130.0, skew=1.4, lower="logistic", practice=8.0)
SOME = np.arange(N) % 2 == 0
RESETS = [
    RoundReset(0, None, Reset(900.0, 0.0)),  # before the first round: of nobody
    RoundReset(4, None, Reset(1600.0, 0.6, 80.0)),
    RoundReset(4, SOME, Reset(1400.0, 0.5)),
    RoundReset(8, None, Reset(1500.0, 1.0, 1000.0)),  # up to the variance of a newcomer
]
HARD = [*RESETS, RoundReset(10, None, Reset(1450.0, 0.0, 50.0))]


def rounds() -> Rounds:
    return history([6, 2, 5, 8, 2, 7, 3, 6, 5, 4, 7, 6], N)


def smoothed(resets: list[RoundReset], params: Smoothing = PARAMS, map=serial_map) -> tuple[Smoother, Smoothed]:
    smoother = Smoother(params, rounds(), N, map, resets=resets)
    for _ in range(60):  # until nothing moves
        smoother.sweep()
    return smoother, smoother.result()


def walks(resets: list[RoundReset], params: Smoothing, laws: list[Law]) -> Iterator[tuple[np.ndarray, ...]]:
    """Of each player: rows, and scale, growth and added variance before each, one reset after the other."""
    given, start = rounds(), params.mu_init
    of_row = np.repeat(np.arange(len(given)), given.participants)
    for player in range(N):
        rows = np.flatnonzero(given.player == player)
        scale, growth, added, v = np.ones(len(rows)), np.zeros(len(rows)), np.zeros(len(rows)), params.sigma_init**2
        for k, row in enumerate(rows.tolist()):
            r = int(of_row[row])
            if k:
                previous = int(of_row[rows[k - 1]])
                for before, mask, reset in resets:
                    if previous < before <= r and (mask is None or mask[player]):
                        c = reset.keep
                        wide = min(max(params.sigma_init**2, v), v + reset.widen**2)
                        scale[k] *= c
                        growth[k] = c * growth[k] + (1.0 - c) * (reset.centre - start)
                        added[k] = c * c * added[k] + wide - c * c * v
                        v = wide
                days = (given.time_seconds[r] - given.time_seconds[previous]) / 86_400
                drift = params.gamma**2 * given.weight[r] + params.drift_per_day * days
                added[k] += drift
                v += drift
                shows = 1.0 - 2.0 / given.participants[r]
                growth[k] += shows * params.practice / (1.0 + k / params.practice_rounds)
            v = 1.0 / (1.0 / v + 1.0 / laws[r].variance)
        yield rows, of_row[rows], scale, growth, added


def laws_of(params: Smoothing) -> list[Law]:
    found = []
    for weight, n in zip(rounds().weight.tolist(), rounds().participants.tolist(), strict=True):
        beta = params.beta / math.sqrt(weight)
        found.append(Law(beta, params.skew * beta, 1.0 - 2.0 / n, params.lower == "logistic"))
    return found


@pytest.mark.parametrize("resets", [RESETS, HARD], ids=["soft", "hard"])
def test_smoothing__inverts_the_precision_matrix_with_these_transitions(resets: list[RoundReset]) -> None:
    _, result = smoothed(resets)
    laws = laws_of(PARAMS)
    for rows, played, scale, growth, added in walks(resets, PARAMS, laws):
        beta = [math.sqrt(laws[r].variance) for r in played]
        perf = result.perf[rows] - PARAMS.mu_init
        mean, law = joint(PARAMS.sigma_init, perf, beta, added, growth, scale)
        np.testing.assert_allclose(result.smooth_mu[rows], mean + PARAMS.mu_init, atol=1e-6)
        np.testing.assert_allclose(result.smooth_sigma[rows], np.sqrt(np.diag(law)), rtol=1e-9)
        for k, row in enumerate(rows):
            blind = [*beta[:k], math.inf, *beta[k + 1 :]]
            mean_out, law_out = joint(PARAMS.sigma_init, perf, blind, added, growth, scale)
            assert result.cavity_mu[row] == pytest.approx(mean_out[k] + PARAMS.mu_init, abs=1e-4)
            assert result.cavity_sigma[row] == pytest.approx(math.sqrt(law_out[k, k]), rel=1e-9)
        path = Path(result.smooth_mu[rows], result.smooth_sigma[rows] ** 2, result.log_gain[rows])
        for i, j in ((0, len(rows) - 1), (1, len(rows) - 2)):
            expected = law[i, i] + law[j, j] - 2.0 * law[i, j]
            apart, deviation = difference(path, Moment(i), Moment(j))
            assert (apart, deviation) == pytest.approx((mean[j] - mean[i], math.sqrt(expected)), rel=1e-7, abs=1e-5)


def test_smoothing__of_skewed_performances_finds_the_mode_with_these_transitions() -> None:
    _, result = smoothed(HARD, SKEWED)
    laws = laws_of(SKEWED)
    for rows, played, scale, growth, added in walks(HARD, SKEWED, laws):
        perf = result.perf[rows] - SKEWED.mu_init
        mode = skewed_mode(SKEWED.sigma_init, perf, [laws[r] for r in played], added, growth, scale=scale)
        np.testing.assert_allclose(result.smooth_mu[rows], mode + SKEWED.mu_init, atol=1e-4)


def test_smoothing__passes_no_information_through_a_reset_that_keeps_nothing() -> None:
    params, given = replace(PARAMS, practice=0.0), rounds()
    reset = [RoundReset(6, None, Reset(PARAMS.mu_init, 0.0, 1e6))]
    smoother = Smoother(params, given, N, resets=reset)
    earlier, later = Smoother(params, given.part(0, 6), N), Smoother(params, given.part(6, len(given)), N)
    for one in (smoother, earlier, later):
        while not one.converged or one.sweeps < 40:
            one.sweep()
    result, parts = smoother.result(), (earlier.result(), later.result())
    for name in ("smooth_sigma", "cavity_sigma"):
        apart = np.concatenate([getattr(part, name) for part in parts])
        first = given.offsets[6]
        assert np.allclose(getattr(result, name)[:first], apart[:first], rtol=1e-12)
        drift = np.sqrt(params.gamma**2 * 2.0 + 1e6 * params.drift_per_day / 86_400)  # before the first round after it
        assert np.allclose(getattr(result, name)[first:], apart[first:], atol=drift**2 / 350.0)
    assert np.allclose(result.smooth_mu[: given.offsets[6]], parts[0].smooth_mu, atol=0.01)


def test_smoothing__across_resets_has_the_same_bits_however_the_work_is_cut() -> None:
    _, expected = smoothed(HARD, SKEWED)
    with Threads(3, 5) as engine:
        _, found = smoothed(HARD, SKEWED, engine.map)
    assert all(getattr(found, name).tobytes() == getattr(expected, name).tobytes() for name in Smoothed.__slots__)


def test_evidence__across_resets_has_the_derivatives_of_its_value() -> None:
    given = history([40, 35, 50, 40, 45], 60)
    resets = [RoundReset(2, None, Reset(1550.0, 0.7, 60.0)), RoundReset(4, np.arange(60) < 30, Reset(1500.0, 0.0))]
    smoother = Smoother(Smoothing(), given, 60, resets=resets)
    perf = np.random.default_rng(2).normal(0.0, 300.0, given.n_rows)
    one = Evidence(
        given.participants, smoother._rows, smoother._model, smoother._noise.weight, perf, 20.0, 350.0, serial_map,
        smoother._drift.resets,
    )  # fmt: skip
    at = np.zeros(one.size)
    at[:LEVELS] = 150.0**2, 20.0**2, 30.0, 300.0**2, 8.0
    at[LEVELS:-1] = 20.0
    score = one.at(at).score
    for place in range(one.size):
        step = np.zeros(one.size)
        step[place] = 1e-4 * max(abs(at[place]), 1.0)
        slope = (one.at(at + step).value - one.at(at - step).value) / (2.0 * step[place])
        assert score[place] == pytest.approx(slope, rel=1e-5, abs=1e-9), place
