"""Sweeps over histories: a plain twin, laws, the criterion of convergence, and the same bits however work is cut."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.rounds import history
from twins import elo_mms
from twins import smoothing as twin
from twins.elo_mmr import Twin as EloMMRTwin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.rating_kernels import ConvergenceError, Rounds
from ranklake.rating_kernels.core.beliefs import serial_map
from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.smoothing import sweeps
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.smoothing.sweeps import Smoothed, Smoother, solve_performances

COLUMNS = Smoothed.__slots__
SKEWED = Smoothing(beta=130.0, skew=1.4, lower="logistic", practice=8.0)
RANKED = replace(SKEWED, duel=2.0, resolution="rank")  # the defaults of Elo-MMS


def smooth(rounds: Rounds, n_players: int, engine=None, params: Smoothing | None = None, sweeps: int = 0) -> Smoother:
    """Until convergence, and for ``sweeps`` more."""
    smoother = Smoother(params or Smoothing(), rounds, n_players, (engine or Serial()).map)
    while not smoother.converged:
        smoother.sweep()
    for _ in range(sweeps):
        smoother.sweep()
    return smoother


def bits(smoothed: Smoothed) -> list[bytes]:
    return [getattr(smoothed, name).tobytes() for name in COLUMNS]


@pytest.mark.parametrize("tie_mode", ["full", "split"])
@pytest.mark.parametrize("spread", [0.0, 80.0])
def test_sweeps__end_where_plain_sweeps_of_the_twin_end(tie_mode: str, spread: float) -> None:
    rounds, params = history([6, 2, 5, 8, 2, 7, 3, 6], 9), Smoothing(tie_mode=tie_mode)
    if spread > 0.0:
        rounds = replace(rounds, advantage=np.random.default_rng(4).normal(0.0, spread, rounds.n_rows))
    result = smooth(rounds, 9, params=params, sweeps=60).result()
    standings, cavity, smoothed, perf, ahead = [], [], [], [], []
    for a, b in zip(rounds.offsets[:-1], rounds.offsets[1:], strict=True):
        names = [str(player) for player in rounds.player[a:b]]
        standings.append(list(zip(names, rounds.lo[a:b].tolist(), rounds.hi[a:b].tolist(), strict=True)))
        beliefs = zip(result.cavity_mu[a:b].tolist(), result.cavity_sigma[a:b].tolist(), strict=True)
        cavity.append(dict(zip(names, beliefs, strict=True)))
        smoothed.append(dict(zip(names, result.smooth_mu[a:b].tolist(), strict=True)))
        perf.append(dict(zip(names, result.perf[a:b].tolist(), strict=True)))
        ahead.append(dict(zip(names, rounds.strengths(np.zeros(rounds.n_rows))[a:b].tolist(), strict=True)))
    wanted = {name: getattr(params, name) for name in Smoothing.__slots__}
    expected, beliefs = twin.sweep(
        standings, rounds.time_seconds.tolist(), rounds.weight.tolist(), cavity, wanted, ahead
    )
    for r, row in enumerate(expected):  # one more sweep moves nothing: both have the same fixed point
        for name, shown in row.items():
            assert perf[r][name] == pytest.approx(shown, abs=1e-6)
            assert cavity[r][name][0] == pytest.approx(beliefs[r][name]["mu_out"], abs=1e-6)
            assert cavity[r][name][1] == pytest.approx(beliefs[r][name]["sig_out"], rel=1e-9)
            assert smoothed[r][name] == pytest.approx(beliefs[r][name]["mu"], abs=1e-6)


def test_sweeps__begin_with_performances_in_the_field_of_strengths() -> None:
    """Rounds of newcomers: a duel and a round of five."""
    params, ahead = Smoothing(), np.array([30.0, -30.0, 70.0, 0.0, -12.5, 4.0, -90.0])
    places = [0, 1, 0, 1, 2, 3, 4]
    smoother = Smoother(params, Rounds.from_columns([0, 2, 7], np.arange(7), places, places, advantage=ahead), 7)
    smoother.sweep()
    field = [(params.mu_init + a, np.hypot(params.sigma_init, params.beta)) for a in ahead.tolist()]
    system = EloMMRTwin(beta=params.beta, gamma=1.0)
    expected = [system._performance(field[:2], lo, lo) for lo in range(2)]
    expected += [system._performance(field[2:], lo, lo) for lo in range(5)]
    np.testing.assert_allclose(smoother.result().perf, np.array(expected) - ahead, rtol=0, atol=1e-6)


@pytest.mark.parametrize("column", [{"perf_ceiling": [1900.0]}, {"teams": Ragged(np.array([0, 2, 3]), np.ones(3))}])
def test_advantages__beside_teams_or_a_ceiling_are_refused(column: dict[str, Any]) -> None:
    places = [0, 0, 1] if "teams" in column else [0, 1, 2]
    rounds = Rounds.from_columns([0, 3], [0, 1, 2], places, places, advantage=[9.0, -9.0, 0.0], **column)
    with pytest.raises(ValueError, match="with advantages must have neither teams nor a performance ceiling"):
        Smoother(Smoothing(), rounds, 3)


@pytest.mark.parametrize(
    "params",
    [
        replace(SKEWED, skew=2.0),
        replace(SKEWED, beta=260.0, skew=3.0, lower="normal"),
        RANKED,
        replace(RANKED, tie_mode="split", skew=1.0, lower="normal"),
    ],
    ids=["logistic", "normal", "ranked", "split"],
)
def test_sweeps__begin_with_the_performances_of_elo_mms(params: Smoothing) -> None:
    rounds = history([6, 2, 5, 8, 7, 3, 2, 2], 9)
    system = elo_mms.Twin(**{name: getattr(params, name) for name in Smoothing.__slots__})
    smoother = Smoother(params, rounds, 9)
    smoother.sweep()
    expected = []
    for a, b, time, share in zip(
        rounds.offsets[:-1], rounds.offsets[1:], rounds.time_seconds, rounds.weight, strict=True
    ):
        players, lo, hi = (column[a:b].tolist() for column in (rounds.player, rounds.lo, rounds.hi))
        standings = [(str(player), *place) for player, *place in zip(players, lo, hi, strict=True)]
        expected += [each.performance for each in system.rate(standings, float(time), float(share))]
    np.testing.assert_allclose(smoother.result().perf, expected, rtol=0, atol=1e-6)


def test_sweeps__with_skewed_performances_end_at_the_mode_of_each_player() -> None:
    """One more sweep moves nothing: performances against the cavities, skills of dense matrices from these."""
    rounds = history([6, 2, 5, 8, 2, 7, 3, 6], 9)
    result = smooth(rounds, 9, params=SKEWED, sweeps=60).result()
    laws = []
    for a, b, weight in zip(rounds.offsets[:-1], rounds.offsets[1:], rounds.weight.tolist(), strict=True):
        upper = SKEWED.beta / math.sqrt(weight)
        law = elo_mms.Law(upper, SKEWED.skew * upper, max(0.0, 1.0 - 2.0 / float(b - a)), logistic=True)
        laws.append(law)
        deviation = np.sqrt(result.cavity_sigma[a:b] ** 2 + law.variance)
        field = list(zip(result.cavity_mu[a:b].tolist(), deviation.tolist(), strict=True))
        for row in range(a, b):
            root = elo_mms._performance(field, int(rounds.lo[row]), int(rounds.hi[row]), True)
            assert result.perf[row] == pytest.approx(root - law.shift, abs=1e-4)
    round_of = np.repeat(np.arange(len(rounds)), np.diff(rounds.offsets))
    for player in range(9):
        rows = np.flatnonzero(rounds.player == player)
        mine = round_of[rows]
        days = np.diff(rounds.time_seconds[mine], prepend=0) / 86400.0
        added = SKEWED.gamma**2 * rounds.weight[mine] + SKEWED.drift_per_day * days
        shown = np.array([laws[r].share for r in mine])
        growth = shown * SKEWED.practice / (1.0 + np.arange(len(mine)) / SKEWED.practice_rounds)
        perf = result.perf[rows] - SKEWED.mu_init
        mode = twin.skewed_mode(SKEWED.sigma_init, perf, [laws[r] for r in mine], added, growth)
        np.testing.assert_allclose(result.smooth_mu[rows] - SKEWED.mu_init, mode, rtol=0, atol=1e-3)


@pytest.mark.quick("duels")
@pytest.mark.parametrize(
    ("sizes", "n_players", "factor", "params"),
    [
        ([300, 40, 150, 2, 500, 97, 96] * 3, 600, 2.0, Smoothing()),
        ([300, 40, 150, 2, 500, 97, 96] * 3, 600, 4.0, SKEWED),
        ([2] * 400, 30, 6.0, Smoothing()),
        ([2, 2, 3] * 200, 90, 6.0, RANKED),
    ],
    ids=["contests", "skewed", "duels", "ranked"],
)
def test_sweeps__end_near_the_limit(sizes: list[int], n_players: int, factor: float, params: Smoothing) -> None:
    """The tolerances are of one sweep; duels, of which each says little, and skewed performances are slower."""
    rounds = history(sizes, n_players)
    smoother = smooth(rounds, n_players, params=params)
    at_end = smoother.result()
    assert smoother.sweeps < 40
    for _ in range(60):
        smoother.sweep()
    limit = smoother.result()
    assert smoother.mean_move < 1e-3
    error = at_end.cavity_mu - limit.cavity_mu
    round_errors = [error[a:b] for a, b in zip(rounds.offsets[:-1], rounds.offsets[1:], strict=True)]
    assert max(abs(part.mean()) for part in round_errors) < factor * sweeps.MEAN_MOVE
    assert max(np.ptp(part) for part in round_errors) < factor * sweeps.SPREAD


@pytest.mark.quick("normal-*", "skewed-two", "ranked-three")
@pytest.mark.parametrize(
    "engine", [lambda: Serial(7), lambda: Threads(2), lambda: Threads(3, 11)], ids=["pieces", "two", "three"]
)
@pytest.mark.parametrize("params", [Smoothing(), SKEWED, RANKED], ids=["normal", "skewed", "ranked"])
def test_sweeps__have_the_same_bits_however_the_work_is_cut(engine, params: Smoothing) -> None:
    rounds = history([300, 40, 150, 2, 2, 2, 500, 97, 96, 2] * 2, 600)
    expected = smooth(rounds, 600, params=params)
    with engine() as opened:
        cut = smooth(rounds, 600, opened, params)
    assert cut.sweeps == expected.sweeps
    assert bits(cut.result()) == bits(expected.result())


@pytest.mark.parametrize(
    ("params", "sizes"),
    [(Smoothing(), [2] * 400), (SKEWED, [20, 3] * 60), (RANKED, [2, 3] * 200)],
    ids=["normal", "skewed", "ranked"],
)
def test_sweeps__go_on_from_a_checkpoint_with_the_same_bits(monkeypatch, params: Smoothing, sizes: list[int]) -> None:
    monkeypatch.setattr(sweeps, "PERIOD", 2)
    rounds = history(sizes, 30)
    whole, checkpoints = Smoother(params, rounds, 30), {}
    while not whole.converged:
        whole.sweep()
        if whole.is_checkpoint:
            checkpoints[whole.sweeps] = whole.mean.copy()
    assert len(checkpoints) > 1
    for done, mean in checkpoints.items():
        resumed = Smoother(params, rounds, 30)
        resumed.restore(done, mean)
        while not resumed.converged:
            resumed.sweep()
        assert resumed.sweeps == whole.sweeps
        assert bits(resumed.result()) == bits(whole.result())


def test_sweeps__take_a_hundred_bytes_a_participation(monkeypatch) -> None:
    """32 bytes of beliefs and indices, 16 of two images, 40 of past differences, and one array in passing."""
    rounds = history([300] * 60, 900)
    smoother = Smoother(Smoothing(), history([30, 30], 40), 40)
    while not smoother.converged:
        smoother.sweep()
    monkeypatch.setattr(sweeps, "MEAN_MOVE", -1.0)  # goes on
    tracemalloc.start()
    smoother = Smoother(Smoothing(), rounds, 900)
    for _ in range(sweeps.PERIOD + 1):
        smoother.sweep()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 115 * rounds.n_rows


@pytest.mark.slow
def test_sweeps__twice_the_history_is_twice_the_work() -> None:
    """Work is counted: performances found in all sweeps. Twice the contests, twice the players, all of them active."""

    def work(n_rounds: int) -> int:
        rounds, params, found = history([100] * n_rounds, 5 * n_rounds), Smoothing(), [0]

        def solve(mean: np.ndarray, variance: np.ndarray, perf: np.ndarray) -> None:
            found[0] += len(perf)
            solve_performances(params, rounds, serial_map, mean, variance, perf)

        smoother = Smoother(params, rounds, 5 * n_rounds, solve=solve)
        while not smoother.converged:
            smoother.sweep()
        assert found[0] == (smoother.sweeps - 1) * rounds.n_rows  # the first sweep is the filter
        return smoother.sweeps * rounds.n_rows

    counts = [work(n) for n in (40, 80, 160, 320)]
    for half, whole in itertools.pairwise(counts):
        assert whole < 2.3 * half
    assert counts[-1] < 8.8 * counts[0]


def test_sweeps__shift_with_the_level_of_newcomers() -> None:
    rounds = history([20, 30, 120, 25], 150)
    low, high = (smooth(rounds, 150, params=Smoothing(mu_init=mu)).result() for mu in (0.0, 3000.0))
    np.testing.assert_allclose(high.smooth_mu, low.smooth_mu + 3000.0, rtol=0, atol=1e-8)
    assert np.array_equal(high.smooth_sigma, low.smooth_sigma)


def test_sweeps__do_not_depend_on_the_order_within_a_tie() -> None:
    rounds = history([30, 30, 30], 40, ties=0.5)
    order = np.lexsort((rounds.player, rounds.lo, np.repeat(np.arange(3), 30)))
    other = Rounds.from_columns(rounds.offsets, rounds.player[order], rounds.lo, rounds.hi, rounds.time_seconds,
                                rounds.weight)  # fmt: skip
    one, two = (smooth(each, 40, sweeps=20).result().smooth_mu for each in (rounds, other))
    np.testing.assert_allclose(two, one[order], rtol=0, atol=1e-6)


def test_sweeps__know_the_future_of_a_newcomer() -> None:
    """A player who wins ten rounds was no average newcomer in the first."""
    rounds = history([40] * 10, 60, ties=0.0)
    star = np.where(np.arange(400) % 40 == 0, 60, rounds.player)
    rounds = Rounds.from_columns(rounds.offsets, star, rounds.lo, rounds.hi, rounds.time_seconds)
    result = smooth(rounds, 61).result()
    first = result.cavity_mu[0]
    assert first > result.cavity_mu[1:40].max()
    assert result.cavity_sigma[0] < 200.0 < Smoothing().sigma_init


def test_sweeps__name_the_residual_after_too_many(monkeypatch) -> None:
    monkeypatch.setattr(sweeps, "SWEEPS", 3)
    with pytest.raises(ConvergenceError, match=r"not converged after 3 sweeps: the mean of a round still moves by \d"):
        smooth(history([300, 40, 150, 2, 500] * 3, 600), 600)


def test_sweeps__report_a_rating_that_is_not_a_number() -> None:
    smoother = Smoother(Smoothing(), history([5, 5, 5], 6), 6)
    smoother.sweep()
    smoother.restore(1, np.full(15, np.nan))
    with pytest.raises((ConvergenceError, OverflowError)):
        smoother.sweep()
