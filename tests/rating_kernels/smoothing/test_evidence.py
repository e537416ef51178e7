"""The evidence of performances: dense matrices as a twin, differences as a twin of derivatives, and laws."""

from __future__ import annotations

import numpy as np
import pytest

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.core.beliefs import Map, serial_map
from ranklake.rating_kernels.smoothing.common_level import between_nodes
from ranklake.rating_kernels.smoothing.evidence import DRIFT, LEAST, LEVELS, Evidence
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.smoothing.sweeps import Smoother

SPREAD, DUEL = 350.0, 3.0
HYPERPARAMETERS = np.array([150.0**2, 20.0**2, 30.0, 300.0**2, 8.0])


def rounds_of(sizes: list[int], n_players: int = 60, seed: int = 1) -> Rounds:
    draw = np.random.default_rng(seed)
    player = np.concatenate([draw.permutation(n_players)[:n] for n in sizes])
    places = np.concatenate([np.arange(n) for n in sizes])
    time, weight = np.cumsum(draw.integers(0, 900_000, len(sizes))), draw.choice([0.5, 1.0, 2.0], len(sizes))
    return Rounds.from_columns(np.cumsum([0, *sizes]), player, places, places, time, weight)


ROUNDS = rounds_of([40, 35, LEAST - 1, 60, LEAST, 50])
PERF = np.random.default_rng(2).normal(0.0, 300.0, ROUNDS.n_rows)


def evidence(rounds: Rounds = ROUNDS, perf: np.ndarray = PERF, map: Map = serial_map) -> Evidence:
    smoother = Smoother(Smoothing(duel=DUEL), rounds, 60)
    sizes, shown = np.diff(rounds.offsets), smoother._noise.weight
    return Evidence(sizes, smoother._rows, smoother._model, shown, perf, 20.0, SPREAD, map)


def point(one: Evidence) -> np.ndarray:
    levels = np.random.default_rng(3).normal(0.0, 40.0, one.size - LEVELS)
    levels[-1] = 0.0
    return np.concatenate((HYPERPARAMETERS, levels))


def laws(rounds: Rounds, at: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Rows, mean and covariance of the performances of each player in rounds that are large enough."""
    beta2, gamma2, drift, sigma2, practice = at[:LEVELS]
    _, node, share = between_nodes(len(rounds))
    level = (1.0 - share) * at[LEVELS + node] + share * at[LEVELS + node + 1]
    sizes = np.diff(rounds.offsets)
    of_row = np.repeat(np.arange(len(rounds)), sizes)
    found = []
    for player in np.unique(rounds.player):
        rows = np.flatnonzero(rounds.player == player)
        played = of_row[rows]
        k = np.arange(1, len(rows))
        days = np.diff(rounds.time_seconds[played]) / 86_400
        added = np.append(sigma2, gamma2 * rounds.weight[played[1:]] + drift * days)
        growth = np.append(0.0, practice * (1.0 - 2.0 / sizes[played[1:]]) / (1.0 + k / 20.0))
        wider = (1.0 + (DUEL - 1.0) * 2.0 / sizes[played]) ** 2
        walk = np.tril(np.ones((len(rows), len(rows))))
        covariance = walk @ np.diag(added) @ walk.T + np.diag(wider * beta2 / rounds.weight[played])
        seen = sizes[played] >= LEAST
        found.append((rows[seen], (np.cumsum(growth) + level[played])[seen], covariance[np.ix_(seen, seen)]))
    return found


def test_evidence__is_that_of_dense_normal_laws() -> None:
    one = evidence()
    at = point(one)
    expected = -0.5 * np.sum(at[LEVELS:] ** 2) / SPREAD**2
    for rows, mean, covariance in laws(ROUNDS, at):
        off = PERF[rows] - mean
        expected -= 0.5 * (np.linalg.slogdet(covariance)[1] + off @ np.linalg.solve(covariance, off))
    assert one.at(at).value == pytest.approx(expected, rel=1e-12)


def test_evidence__score_is_its_derivative() -> None:
    one = evidence()
    at = point(one)
    score = one.at(at).score
    for place in range(one.size):
        step = np.zeros(one.size)
        step[place] = 1e-4 * max(abs(at[place]), 1.0)
        slope = (one.at(at + step).value - one.at(at - step).value) / (2.0 * step[place])
        assert score[place] == pytest.approx(slope, rel=1e-5, abs=1e-9), place


@pytest.mark.slow
def test_evidence__information_is_the_expected_square_of_the_score() -> None:
    at = point(evidence())
    draw = np.random.default_rng(4)
    factors = [(rows, mean, np.linalg.cholesky(covariance)) for rows, mean, covariance in laws(ROUNDS, at)]
    prior = np.where(np.arange(len(at)) < LEVELS, 0.0, at / SPREAD**2)  # its part of the score is no surprise
    scores, information = [], []
    for _ in range(400):
        perf = PERF.copy()
        for rows, mean, factor in factors:
            perf[rows] = mean + factor @ draw.normal(size=len(rows))
        slope = evidence(perf=perf).at(at)
        scores.append(slope.score + prior)
        information.append(np.diag(slope.information))
    squares, expected = np.mean(np.square(scores), axis=0)[:LEVELS], np.mean(information, axis=0)[:LEVELS]
    np.testing.assert_allclose(squares, expected, rtol=0.25)  # the standard error is 7 %
    assert np.all(np.abs(np.mean(scores, axis=0)[:LEVELS]) < 4.0 * np.sqrt(expected / 400))


def test_evidence__has_the_same_bits_however_the_work_is_cut() -> None:
    expected = evidence().at(point(evidence()))
    with Threads(3, 5) as engine:
        for cut in (Serial(7).map, engine.map):
            slope = evidence(map=cut).at(point(evidence()))
            assert slope.value == expected.value
            assert slope.score.tobytes() == expected.score.tobytes()
            assert slope.information.tobytes() == expected.information.tobytes()


def test_evidence__without_times_knows_nothing_of_days() -> None:
    timeless = Rounds.from_columns(ROUNDS.offsets, ROUNDS.player, ROUNDS.lo, ROUNDS.hi, np.zeros(len(ROUNDS)))
    slope = evidence(timeless).at(point(evidence()))
    assert not slope.information[DRIFT].any()
    assert slope.score[DRIFT] == 0.0


@pytest.mark.parametrize("sizes", [[2] * 5, [LEAST - 1, 3]])
def test_evidence__of_small_rounds_is_refused(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match=f"rounds of at least {LEAST} participants, the largest has {max(sizes)}"):
        evidence(rounds_of(sizes))
