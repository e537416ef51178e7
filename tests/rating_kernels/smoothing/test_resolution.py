"""Places that show a share of a performance: plain messages, known skills, and rounds that are left out."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from helpers.rounds import history
from twins import elo_mms
from twins import smoothing as twin

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.smoothing.sweeps import Smoothed, Smoother

NORMAL = Smoothing(duel=2.0, resolution="rank")
SKEWED = replace(NORMAL, beta=130.0, skew=1.4, lower="logistic", practice=8.0)  # the defaults of Elo-MMS


def smooth(params: Smoothing, rounds: Rounds, sweeps: int = 0) -> Smoothed:
    """Until convergence, and for ``sweeps`` more."""
    smoother = Smoother(params, rounds, int(rounds.player.max()) + 1)
    while not smoother.converged:
        smoother.sweep()
    for _ in range(sweeps):
        smoother.sweep()
    return smoother.result()


def laws_of(params: Smoothing, rounds: Rounds) -> list[elo_mms.Law]:
    """The noise of each round."""
    names = ("beta", "skew", "lower", "duel", "resolution")
    system = elo_mms.Twin(**{name: getattr(params, name) for name in names})
    return [system.law(*each) for each in zip(rounds.participants.tolist(), rounds.weight.tolist(), strict=True)]


def walks(params: Smoothing, rounds: Rounds) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """For each player its rows, its rounds, and what its skill changes before them: variance and mean."""
    found = []
    round_of = np.repeat(np.arange(len(rounds)), np.diff(rounds.offsets))
    for player in range(int(rounds.player.max()) + 1):
        rows = np.flatnonzero(rounds.player == player)
        mine = round_of[rows]
        days = np.diff(rounds.time_seconds[mine], prepend=0) / 86400.0
        added = params.gamma**2 * rounds.weight[mine] + params.drift_per_day * days
        shown = np.maximum(0.0, 1.0 - 2.0 / rounds.participants[mine])
        growth = shown * params.practice / (1.0 + np.arange(len(mine)) / params.practice_rounds)
        found.append((rows, mine, added, growth))
    return found


@pytest.mark.quick("normal")
@pytest.mark.parametrize(
    "params",
    [NORMAL, SKEWED, replace(SKEWED, duel=1.0), replace(NORMAL, tie_mode="split")],
    ids=["normal", "skewed", "narrow", "split"],
)
def test_cavities__are_those_of_messages_between_dense_matrices(params: Smoothing) -> None:
    """One more round of messages moves nothing. With ties split a place gives way to a cavity more than it shows."""
    rounds, full = history([6, 2, 5, 8, 2, 7, 3, 6], 9), params.tie_mode == "full"
    result, laws = smooth(params, rounds, 60), laws_of(params, rounds)
    for (a, b), law in zip(itertools.pairwise(rounds.offsets.tolist()), laws, strict=True):
        deviation = np.sqrt(result.cavity_sigma[a:b] ** 2 + law.variance)
        field = list(zip(result.cavity_mu[a:b].tolist(), deviation.tolist(), strict=True))
        for row in range(a, b):
            root = elo_mms._performance(field, int(rounds.lo[row]), int(rounds.hi[row]), full)
            assert result.perf[row] == pytest.approx(root - law.shift, abs=1e-4)
            known = float(result.cavity_mu[row]), float(result.cavity_sigma[row]), float(result.perf[row])
            mean, deviation_after = elo_mms._update(*known, law)
            assert result.smooth_sigma[row] == pytest.approx(deviation_after, rel=1e-9)
            assert result.smooth_mu[row] == pytest.approx(mean, rel=1e-9) or not full
    for rows, mine, added, growth in walks(params, rounds):
        own, size = [laws[r] for r in mine], rounds.participants[mine]
        walk = (result.perf[rows] - params.mu_init).tolist(), own

        def messages(mean: np.ndarray, variance: np.ndarray, rho: list[float], walk=walk, past=(added, growth)):
            known = list(zip(mean.tolist(), variance.tolist(), strict=True))
            return np.array(twin.messages(params.sigma_init, known, *walk, rho, *past)).T

        mean, newcomers = result.cavity_mu[rows] - params.mu_init, np.full(len(rows), params.sigma_init**2)
        shown = [law.rho for law in own]
        for rho in (shown, shown if full else (1.0 - 1.0 / size).tolist()):
            variance = newcomers
            for _ in range(60):
                variance = messages(mean, variance, rho)[1]
            if rho is shown:
                np.testing.assert_allclose(result.cavity_sigma[rows] ** 2, variance, rtol=1e-8)
        np.testing.assert_allclose(mean, messages(mean, variance, rho)[0], rtol=0, atol=1e-4)


@pytest.mark.parametrize("tie_mode", ["full", "split"])
def test_skills__are_the_mode_given_performances_whatever_places_show(tie_mode: str) -> None:
    params, rounds = replace(SKEWED, tie_mode=tie_mode), history([6, 2, 5, 8, 2, 7, 3, 6], 9)
    result, laws = smooth(params, rounds, 60), laws_of(params, rounds)
    for rows, mine, added, growth in walks(params, rounds):
        perf = (result.perf[rows] - params.mu_init).tolist()
        mode = twin.skewed_mode(params.sigma_init, perf, [laws[r] for r in mine], added, growth)
        np.testing.assert_allclose(result.smooth_mu[rows] - params.mu_init, mode, rtol=0, atol=1e-3)


@pytest.mark.parametrize("tie_mode", ["full", "split"])
def test_deviations__do_not_depend_on_results_and_are_wider_in_small_rounds(tie_mode: str) -> None:
    rounds, params = history([2, 3, 40, 2, 300] * 4, 320), replace(SKEWED, tie_mode=tie_mode)
    places = np.concatenate([np.arange(n) for n in np.diff(rounds.offsets)])
    strict = Rounds.from_columns(rounds.offsets, rounds.player, places, places, rounds.time_seconds, rounds.weight)
    one, other = smooth(params, rounds), smooth(params, strict)
    assert one.smooth_sigma.tobytes() == other.smooth_sigma.tobytes()
    assert one.cavity_sigma.tobytes() == other.cavity_sigma.tobytes()
    exact = smooth(replace(params, resolution="exact"), rounds)
    assert (one.smooth_sigma >= exact.smooth_sigma).all()
    wider = one.cavity_sigma / exact.cavity_sigma
    once = np.bincount(rounds.player)[rounds.player] == 1
    np.testing.assert_allclose(wider[once], 1.0, rtol=1e-12)  # no other round: the belief about a newcomer
    assert wider[~once].max() > 1.1


def duels(seed: int, players: int, matches: int, noise: float) -> tuple[Rounds, np.ndarray]:
    """Matches of drawn pairs, decided by normal performances, and the skills of both players."""
    draw = np.random.default_rng(seed)
    skill, player, truth = draw.normal(0.0, 350.0, players), [], []
    for _ in range(matches):
        pair = draw.permutation(players)[:2]
        pair = pair[np.argsort(-skill[pair] - draw.normal(0.0, noise, 2))]
        player.append(pair)
        truth.append(skill[pair])
        skill[pair] += draw.normal(0.0, 12.0, 2)
    places = np.tile([0, 1], matches)
    return Rounds.from_columns(2 * np.arange(matches + 1), np.concatenate(player), places, places), np.concatenate(
        truth
    )


@pytest.mark.slow
def test_intervals__of_known_skills_in_duels_hold_them() -> None:
    """95 % intervals: those for exact places hold too few skills, for ranked ones about as many as they say."""
    params = Smoothing(beta=200.0, practice=0.0, drift_per_day=0.0, mu_init=0.0, duel=2.0)
    held: dict[str, list[np.ndarray]] = {"exact": [], "rank": []}
    for seed, players in itertools.product(range(3), (60, 200, 400)):
        rounds, truth = duels(seed, players, 1200, 200.0)
        for resolution, found in held.items():
            result = smooth(replace(params, resolution=resolution), rounds)
            found.append(np.abs(truth - result.smooth_mu) < 1.96 * result.smooth_sigma)
    coverage = {resolution: float(np.mean(found)) for resolution, found in held.items()}
    assert coverage["exact"] < 0.88
    assert 0.94 < coverage["rank"] < 0.98


@pytest.mark.quick("full")
@pytest.mark.parametrize("tie_mode", ["full", "split"])
def test_cavities__of_duels_are_skills_without_the_match(tie_mode: str) -> None:
    """Matches of almost no weight are left out: cavities move where they lead, for exact places less than halfway."""
    rounds, _ = duels(5, 25, 300, 200.0)
    slope = {}
    for resolution in ("exact", "rank"):
        params = Smoothing(beta=200.0, practice=0.0, duel=2.0, resolution=resolution, tie_mode=tie_mode)
        whole, moved, wanted = smooth(params, rounds, 20), [], []
        for r in range(10, 300, 20):
            weight = np.ones(300)
            weight[r] = 1e-7
            without, rows = smooth(params, replace(rounds, weight=weight), 20), slice(2 * r, 2 * r + 2)
            moved.append(whole.cavity_mu[rows] - whole.smooth_mu[rows])
            wanted.append(without.cavity_mu[rows] - whole.smooth_mu[rows])
        slope[resolution] = float(np.sum(np.multiply(moved, wanted)) / np.sum(np.square(wanted)))
    assert slope["exact"] < 0.5
    assert 0.7 < slope["rank"] < 1.1
