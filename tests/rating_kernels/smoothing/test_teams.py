"""Smoothing of contests of teams: dense matrices, plain messages, and the same bits however work is cut."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.teams import draw_team_contests, team_rounds
from twins import elo_mms
from twins import smoothing as twin
from twins.teams import Options, Team, team_of

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.smoothing.sweeps import Smoothed, Smoother

PEOPLE = 9
RULES = (
    {}, {"team_noise": "members", "tie_mode": "split"}, {"credit": "own"}, {"duel": 2.0, "resolution": "rank"},
)  # fmt: skip
SKEWED = {"beta": 130.0, "skew": 1.4, "lower": "logistic"}
RANKED = {**SKEWED, "duel": 2.0, "resolution": "rank"}


def drawn(seed: int = 4, n_rounds: int = 8) -> Rounds:
    """Contests of teams and individuals, with ties, shares, weights and ceilings."""
    return team_rounds(draw_team_contests(seed, PEOPLE, n_rounds), {k: k for k in range(PEOPLE)})


def smooth(params: Smoothing, rounds: Rounds, sweeps: int = 60, engine=None) -> Smoothed:
    """Until convergence, and for ``sweeps`` more."""
    smoother = Smoother(params, rounds, PEOPLE, (engine or Serial()).map)
    while not smoother.converged:
        smoother.sweep()
    for _ in range(sweeps):
        smoother.sweep()
    return smoother.result()


def bits(smoothed: Smoothed) -> list[bytes]:
    return [getattr(smoothed, name).tobytes() for name in Smoothed.__slots__]


def chains(params: Smoothing, rounds: Rounds) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the skills of all participations before any result."""
    round_of = np.repeat(np.arange(len(rounds)), np.diff(rounds.offsets))
    mean, covariance = np.zeros(rounds.n_rows), np.zeros((rounds.n_rows, rounds.n_rows))
    for player in range(PEOPLE):
        rows = np.flatnonzero(rounds.player == player)
        added, growth = drift(params, rounds, round_of[rows])
        mean[rows] = np.cumsum(growth)
        variance = params.sigma_init**2 + np.cumsum(added)
        covariance[np.ix_(rows, rows)] = np.minimum.outer(variance, variance)
    return mean, covariance


def drift(params: Smoothing, rounds: Rounds, mine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is added to the variance and to the mean of a player's skill before each of some rounds."""
    days = np.diff(rounds.time_seconds[mine], prepend=0) / 86400.0
    added = params.gamma**2 * rounds.weight[mine] + params.drift_per_day * days
    shown = np.maximum(0.0, 1.0 - 2.0 / rounds.participants[mine])
    growth = shown * params.practice / (1.0 + np.arange(len(mine)) / params.practice_rounds)
    if len(mine):
        added[0] = growth[0] = 0.0
    return added, growth


def teams_of(params: Smoothing, rounds: Rounds, result: Smoothed) -> list[tuple[int, slice, Team]]:
    """The round, the rows and the law of each team, given the cavities."""
    found = []
    options = Options("mean", params.team_noise, params.credit)
    for a, b in itertools.pairwise(rounds.teams.offsets.tolist()):
        r = int(np.searchsorted(rounds.offsets, a, "right")) - 1
        beta = math.sqrt(law(params, rounds, r, 1.0).variance)
        cavities = zip(result.cavity_mu[a:b].tolist(), result.cavity_sigma[a:b].tolist(), itertools.repeat(beta))
        found.append((r, slice(a, b), team_of(list(cavities), rounds.teams.values[a:b].tolist(), options)))
    return found


def law(params: Smoothing, rounds: Rounds, r: int, wider: float) -> elo_mms.Law:
    """The law of an individual's performance in a round, with both sides ``wider`` by a factor."""
    names = ("beta", "skew", "lower", "duel", "resolution")
    system = elo_mms.Twin(**{name: getattr(params, name) for name in names})
    alone = system.law(int(rounds.participants[r]), float(rounds.weight[r]))
    return replace(alone, upper=alone.upper * wider, lower=alone.lower * wider)


@pytest.mark.parametrize("rule", RULES)
def test_performances__of_members_are_those_of_a_rating_against_the_cavities(rule: dict[str, str]) -> None:
    params, rounds = Smoothing(**rule), drawn()
    result = smooth(params, rounds)
    teams = teams_of(params, rounds, result)
    for r in range(len(rounds)):
        mine = [(rows, team) for other, rows, team in teams if other == r]
        field = [(team.mu, math.sqrt(team.skill + team.noise)) for _, team in mine]
        for rows, team in mine:
            lo, hi = int(rounds.lo[rows.start]), int(rounds.hi[rows.start])
            root = min(elo_mms._performance(field, lo, hi, params.tie_mode == "full"), rounds.perf_ceiling[r])
            for k in range(len(team.members)):
                row = rows.start + k
                shown, noise = team.of_member(k, root)
                assert result.perf[row] == pytest.approx(shown, abs=1e-4)
                variance = result.cavity_sigma[row] ** 2
                variance -= law(params, rounds, r, 1.0).rho * variance**2 / (variance + noise**2)
                assert result.smooth_sigma[row] ** 2 == pytest.approx(variance, rel=1e-8)


@pytest.mark.parametrize("rule", RULES[:2])
def test_skills__are_the_means_of_the_joint_posterior_of_all_members(rule: dict[str, str]) -> None:
    """Condition the skills of all players at all rounds on the performances of all teams by linear algebra."""
    params, rounds = Smoothing(**rule), drawn(5, 12)
    result = smooth(params, rounds)
    mean, covariance = chains(params, rounds)
    teams = teams_of(params, rounds, result)
    design, noise, perf = np.zeros((len(teams), rounds.n_rows)), np.empty(len(teams)), np.empty(len(teams))
    for t, (_, rows, team) in enumerate(teams):
        weight = np.array([w for *_, w in team.members])
        design[t, rows], noise[t] = weight, team.noise
        perf[t] = team.mu + weight[0] * (result.perf[rows.start] - result.cavity_mu[rows.start]) - params.mu_init
    gain = covariance @ design.T @ np.linalg.inv(design @ covariance @ design.T + np.diag(noise))
    expected = params.mu_init + mean + gain @ (perf - design @ mean)
    np.testing.assert_allclose(result.smooth_mu, expected, rtol=0, atol=1e-5)


def test_deviations__are_exact_where_no_partners_meet_again() -> None:
    """0 and 1 are partners, then 1 and 2: no two ways lead from one player to another."""
    places = [([0, 1], [3, 4]), ([1, 2], [5, 6]), ([2], [7]), ([0], [8])]
    contests = [
        ([(0, 0, winners, None), (1, 1, losers, None)], k * 10**6, 1.0, math.inf)
        for k, (winners, losers) in enumerate(places)
    ]
    params, rounds = Smoothing(), team_rounds(contests, {k: k for k in range(PEOPLE)})
    result = smooth(params, rounds)
    _, covariance = chains(params, rounds)
    teams = teams_of(params, rounds, result)
    design = np.zeros((len(teams), rounds.n_rows))
    for t, (_, rows, team) in enumerate(teams):
        design[t, rows] = [w for *_, w in team.members]
    noise = np.diag([team.noise for *_, team in teams])
    posterior = covariance - covariance @ design.T @ np.linalg.solve(
        design @ covariance @ design.T + noise, design @ covariance
    )
    np.testing.assert_allclose(result.smooth_sigma**2, np.diag(posterior), rtol=1e-8)


@pytest.mark.parametrize("rule", [SKEWED, RANKED], ids=["exact", "ranked"])
def test_skills__with_skewed_performances_are_the_mode_of_each_player(rule: dict[str, object]) -> None:
    params, rounds = Smoothing(**rule), drawn()
    result = smooth(params, rounds)
    round_of = np.repeat(np.arange(len(rounds)), np.diff(rounds.offsets))
    noise = np.empty(rounds.n_rows)
    for _, rows, team in teams_of(params, rounds, result):
        noise[rows] = [team.of_member(k, 0.0)[1] for k in range(len(team.members))]
    for player in range(PEOPLE):
        rows = np.flatnonzero(rounds.player == player)
        mine = round_of[rows]
        wider = [
            noise[row] / math.sqrt(law(params, rounds, r, 1.0).variance) for row, r in zip(rows, mine, strict=True)
        ]
        laws = [law(params, rounds, r, factor) for r, factor in zip(mine, wider, strict=True)]
        mode = twin.skewed_mode(
            params.sigma_init, result.perf[rows] - params.mu_init, laws, *drift(params, rounds, mine)
        )
        np.testing.assert_allclose(result.smooth_mu[rows] - params.mu_init, mode, rtol=0, atol=1e-3)


@pytest.mark.parametrize("rule", [{}, RANKED, {**RANKED, "tie_mode": "split"}], ids=["normal", "ranked", "split"])
def test_bits__do_not_depend_on_the_engine_or_a_checkpoint(rule: dict[str, object]) -> None:
    params, rounds = Smoothing(**rule), drawn(6, 40)
    expected = smooth(params, rounds, 12)
    with Threads(2) as engine:
        assert bits(smooth(params, rounds, 12, engine)) == bits(expected)
    whole = Smoother(params, rounds, PEOPLE)
    checkpoints = []
    while not whole.converged:
        whole.sweep()
        if whole.is_checkpoint:
            checkpoints.append((whole.sweeps, whole.mean.copy()))
    assert checkpoints
    for sweeps, mean in checkpoints:
        resumed = Smoother(params, rounds, PEOPLE)
        resumed.restore(sweeps, mean)
        while not resumed.converged:
            resumed.sweep()
        assert bits(resumed.result()) == bits(whole.result())


def test_partners__who_never_part_share_what_their_team_shows() -> None:
    """Results do not tell them apart, and credit=joint keeps their sum: the mean of both is that of their team."""
    together = [([(0, 0, [0, 1], None), (1, 1, [2, 3], None)], k, 1.0, math.inf) for k in range(30)]
    result = smooth(Smoothing(practice=0.0), team_rounds(together, {k: k for k in range(PEOPLE)}))
    skills = result.smooth_mu.reshape(-1, 4)
    np.testing.assert_allclose(skills[:, 0], skills[:, 1], atol=1e-9)
    assert (skills[:, 0] > 1600.0).all()
    np.testing.assert_allclose(skills[:, 0] + skills[:, 2], 3000.0, atol=1.0)


def test_smoothing__of_teams_has_no_rule_for_the_best_members_and_for_estimates() -> None:
    with pytest.raises(ValueError, match="no rule for contests of teams with team=best; set team=mean"):
        Smoother(Smoothing(team="best"), drawn(), PEOPLE)
    with pytest.raises(ValueError, match="cannot be estimated from contests of teams"):
        Smoother(Smoothing(), drawn(), PEOPLE).estimate()
