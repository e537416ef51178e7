"""Teams: the law of a team, what it says about its members, and the systems that rate rounds of teams."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from helpers.histories import same_bits
from helpers.teams import draw_team_contests, team_rounds
from twins.bar import Twin as BARTwin
from twins.elo_mmr import Twin as MMRTwin
from twins.elo_mms import Twin as MMSTwin
from twins.teams import Options, team_of
from twins.teams import level as twin_level
from twins.trueskill import Twin as TrueSkillTwin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.results.groups import group_level
from ranklake.rating_kernels import SYSTEMS, Outcome, Rounds
from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.core.system import TeamLaws
from ranklake.rating_kernels.inference.teams.members import Members, credit_members, describe_teams

ABLE = ("elo-mmr", "elo-mmx", "elo-mms")
SUMS = (
    ("trueskill", {}),
    ("trueskill", {"model": "place"}),
    ("bar", {}),
    *(("bar", {"variant": "btfull", "gamma": gamma}) for gamma in ("sigma_over_c", "one_over_teams", "one")),
)  # systems whose teams are sums
CHOICES = ({}, {"team": "best"}, {"team_noise": "members", "tie_mode": "split"}, {"credit": "own"})
EVERYBODY = {k: k for k in range(9)}


def members(seed: int, n_teams: int):
    """Bounds of random teams, and mu, sigma, beta and share of each member."""
    rng = np.random.default_rng(seed)
    bounds = np.concatenate(([0], np.cumsum(rng.integers(1, 5, n_teams))))
    n = bounds[-1]
    return bounds, rng.normal(1500, 400, n), rng.uniform(40, 350, n), rng.uniform(80, 300, n), rng.uniform(0.5, 3, n)


def law(bounds, mu, sigma, beta, share, best=False, apart=False):
    """The weights of members, and mu, sigma and beta of teams."""
    n_teams = len(bounds) - 1
    laws = TeamLaws(np.empty(len(mu)), np.empty(n_teams), np.empty(n_teams), np.empty(n_teams))
    describe_teams(0, n_teams, Ragged(bounds, share), best, apart, Members(mu, sigma, beta), laws)
    return laws


def rate(name: str, contests, large: bool = False, **settings):
    """The outcome of a history of :data:`EVERYBODY`; ``large``: each round takes the steps of large ones."""
    system = dataclasses.replace(SYSTEMS[name], small=0) if large else SYSTEMS[name]
    params = system.params(**settings)
    return rate_rounds(
        system, params, system.newcomers(params, len(EVERYBODY)), team_rounds(contests, EVERYBODY), Serial()
    )


@pytest.mark.parametrize("size", [1, 2, 7])
def test_best_members__have_the_level_that_beats_all_at_once_half_of_the_time(size: int) -> None:
    ratings, ones = np.random.default_rng(size).normal(1500, 500, size), np.ones(size)
    _, (found,), *_ = law(np.array([0, size]), ratings, ones, ones, ones, best=True)
    assert math.prod(1 / (1 + 10 ** ((m - found) / 400)) for m in ratings) == pytest.approx(0.5, rel=1e-12)
    assert found == pytest.approx(twin_level(ratings.tolist()), abs=1e-10)
    assert found == pytest.approx(group_level(ratings.tolist()), rel=1e-13)  # the rating of a team


@pytest.mark.parametrize("options", [Options(*row) for row in itertools.product(("mean", "best"), ("team", "members"))])
def test_teams__are_those_of_the_twin(options: Options) -> None:
    bounds, mu, sigma, beta, share = members(1, 20)
    laws = law(bounds, mu, sigma, beta, share, options.team == "best", options.team_noise == "members")
    perf, shown, noise = laws.mu + 50.0, np.empty(len(mu)), beta.copy()
    credit_members(0, 20, bounds, False, Members(mu, sigma, noise), laws, perf, shown)
    for t, (i, j) in enumerate(itertools.pairwise(bounds)):
        team = team_of(list(zip(mu[i:j], sigma[i:j], beta[i:j], strict=True)), share[i:j].tolist(), options)
        found = [column[t] for column in laws[1:]]
        np.testing.assert_allclose(found, [team.mu, math.sqrt(team.skill), math.sqrt(team.noise)], rtol=1e-13)
        expected = [team.of_member(k, perf[t]) for k in range(j - i)]
        np.testing.assert_allclose(np.transpose([shown[i:j], noise[i:j]]), expected, rtol=1e-10)


def test_credit__is_the_marginal_of_the_joint_posterior_of_normal_laws() -> None:
    """Condition the joint law of the members' skills on one performance by linear algebra."""
    bounds, (mu, sigma, beta, share) = np.array([0, 4]), (row[:4] for row in members(2, 9)[1:])
    weight, team_mu, _, team_beta = laws = law(bounds, mu, sigma, beta, share)
    perf, shown, noise = team_mu + 173.0, np.empty(4), beta.copy()
    credit_members(0, 1, bounds, False, Members(mu, sigma, noise), laws, perf, shown)
    covariance = np.diag(sigma**2)
    gain = covariance @ weight / (weight @ covariance @ weight + team_beta[0] ** 2)
    joint = covariance - np.outer(gain, weight @ covariance)
    variance = 1 / (1 / sigma**2 + 1 / noise**2)
    np.testing.assert_allclose(variance, np.diag(joint), rtol=1e-12)
    np.testing.assert_allclose(variance * (mu / sigma**2 + shown / noise**2), mu + gain * (perf - team_mu), rtol=1e-12)


def test_weights__of_members_far_below_the_best_one_stay_above_zero() -> None:
    mu, ones = np.array([200_000.0, 0.0]), np.ones(2)
    weight, team_mu, *_ = law(np.array([0, 2]), mu, 100.0 * ones, 200.0 * ones, ones, best=True)
    assert weight.min() == 2.0**-60
    assert team_mu[0] == 200_000.0


def test_systems__that_rate_teams_have_their_laws() -> None:
    able = {name for name, system in SYSTEMS.items() if system.rate_teams is not None}
    assert able == {name for name, system in SYSTEMS.items() if system.team_laws is not None}
    assert able >= {*ABLE, "trueskill", "bar"}


@pytest.mark.parametrize(
    ("name", "settings", "mean", "skill", "noise"),
    [
        ("elo-mmr", {}, 1600.0, [0.25, 0.75], [0.5, 0.866]),
        ("elo-mmx", {"team_noise": "members"}, 1600.0, [0.25, 0.75], [0.25, 0.75]),
        ("trueskill", {}, 3200.0, [0.5, 1.5], [0.5, 1.5]),
        ("bar", {}, 3200.0, [0.5, 1.5], [1.0, 0.0]),
    ],
)
def test_laws__of_a_team_are_by_the_rule_of_its_system(
    name: str, settings: dict[str, str], mean: float, skill: list[float], noise: list[float]
) -> None:
    """Members with shares of 1 and 3, and a player alone, whose law is that of the team, to the bit."""
    system, teams = SYSTEMS[name], Ragged(np.array([0, 2, 3]), np.array([1.0, 3.0, 7.0]))
    mu, sigma, beta = np.array([1300.0, 1700.0, 1512.3]), np.array([80.0, 60.0, 71.1]), np.array([200.0, 150.0, 133.3])
    assert system.team_laws is not None
    found = system.team_laws(system.params(**settings), teams, mu, sigma, beta)
    assert found.mu[0] == pytest.approx(mean)
    assert found.sigma[0] == pytest.approx(np.hypot(*(skill * sigma[:2])))
    assert found.beta[0] == pytest.approx(np.hypot(*(noise * beta[:2])), rel=1e-4)
    assert (found.weight[2], found.mu[1], found.sigma[1], found.beta[1]) == (1.0, 1512.3, 71.1, 133.3)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("choice", range(len(CHOICES)))
@pytest.mark.parametrize("name", ABLE)
def test_system__rates_teams_as_its_twin(name: str, choice: int, large: bool) -> None:
    settings = CHOICES[choice]
    contests = draw_team_contests(choice, len(EVERYBODY), 3)
    outcome, expected = rate(name, contests, large, **settings), []
    variant = {} if name == "elo-mms" else {"variant": "gaussian" if name == "elo-mmx" else "logistic"}
    twin = (MMSTwin if name == "elo-mms" else MMRTwin)(**settings, **variant)
    for contest in contests:
        rated = twin.rate_teams(*contest)
        rows = rated if name == "elo-mms" else rated[0]
        expected += [(row.mu_prior, row.sigma_prior, row.mu, row.sigma, row.performance) for row in rows]
    found = outcome.mu_prior, outcome.sigma_prior, outcome.mu, outcome.sigma, outcome.perf
    np.testing.assert_allclose(np.transpose(found), expected, rtol=1e-11)


@pytest.mark.parametrize("credit", ["joint", "own"])
def test_places__of_teams_show_each_member_the_same_share(credit: str) -> None:
    """(N - 1) / (N + 1) of the variance that the performance of the team would remove, with N teams."""
    contests, removed = draw_team_contests(3, len(EVERYBODY), 1), []
    for resolution in ("rank", "exact"):
        outcome = rate("elo-mms", contests, False, credit=credit, resolution=resolution)
        removed.append(outcome.sigma_prior**2 - outcome.sigma**2)
    n = len(contests[0][0])
    assert n < len(outcome.mu)
    np.testing.assert_allclose(removed[0], (n - 1) / (n + 1) * removed[1], rtol=1e-10)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(("name", "settings"), SUMS)
def test_system__whose_teams_are_sums_rates_them_as_its_twin(name: str, settings: dict[str, str], large: bool) -> None:
    contests = draw_team_contests(8, len(EVERYBODY), 3)
    twin = (TrueSkillTwin if name == "trueskill" else BARTwin)(**settings)
    outcome = rate(name, contests, large, **settings)
    rows = [row for contest in contests for row in twin.rate_teams(*contest)]
    expected = [(row.mu_prior, row.sigma_prior, row.mu, row.sigma) for row in rows]
    found = outcome.mu_prior, outcome.sigma_prior, outcome.mu, outcome.sigma
    np.testing.assert_allclose(np.transpose(found), expected, rtol=1e-9)


@pytest.mark.parametrize("name", ABLE)
def test_team_of_one__is_an_individual_to_the_bit(name: str) -> None:
    contests = draw_team_contests(5, len(EVERYBODY), 4, largest=1)
    alone = team_rounds(contests, EVERYBODY)
    assert alone.teams is None
    system, params = SYSTEMS[name], SYSTEMS[name].params()
    columns = alone.offsets, alone.player, alone.lo, alone.hi, alone.time_seconds, alone.weight, alone.perf_ceiling
    expected = rate_rounds(system, params, system.newcomers(params, 9), Rounds.from_columns(*columns), Serial())
    for settings in ({}, {"team": "best"}, {"team_noise": "members"}, {"credit": "own"}):
        assert same_bits(rate(name, contests, **settings), expected)


def test_law__of_a_team_of_one_is_that_of_its_member_to_the_bit() -> None:
    bounds, mu, sigma, beta, share = members(3, 30)
    _, *laws = law(bounds, mu, sigma, beta, share, best=True, apart=True)
    alone = np.flatnonzero(np.diff(bounds) == 1)
    assert len(alone)
    for found, column in zip(laws, (mu, sigma, beta), strict=True):
        assert same_bits(found[alone], column[bounds[alone]])


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("name", [*ABLE, "trueskill", "bar"])
def test_engine__changes_no_bit_of_a_round_of_teams(name: str, large: bool) -> None:
    rounds = team_rounds(draw_team_contests(6, len(EVERYBODY), 3), EVERYBODY)
    system = dataclasses.replace(SYSTEMS[name], small=0) if large else SYSTEMS[name]
    params = system.params()
    stores = [system.newcomers(params, 9) for _ in range(3)]
    whole = rate_rounds(system, params, stores[0], rounds, Serial())
    with Threads(2) as engine:
        assert same_bits(rate_rounds(system, params, stores[1], rounds, engine), whole)
    for i in range(len(rounds)):
        part = whole.part(*rounds.offsets[i : i + 2])
        assert same_bits(rate_rounds(system, params, stores[2], rounds.part(i, i + 1), Serial()), part)
    assert same_bits(stores[0], stores[1])
    assert same_bits(stores[0], stores[2])


@pytest.mark.parametrize("settings", CHOICES)
@pytest.mark.parametrize("name", ABLE)
def test_better_place__never_lowers_a_member_within_the_round(name: str, settings: dict[str, str]) -> None:
    teams = [[0, 1, 2], [3, 4], [5], [6, 7, 8]]
    first = [([(k, k, team, None) for k, team in enumerate(teams)], 0, 1.0, math.inf)]
    ratings = []
    for place in range(len(teams)):
        order = [*teams[1:]]
        order.insert(place, teams[0])
        second = [([(k, k, team, None) for k, team in enumerate(order)], 86_400, 1.0, math.inf)]
        outcome = rate(name, first + second, **settings)
        at = {player: row for row, player in enumerate(itertools.chain.from_iterable(order), 9)}
        ratings.append(outcome.mu[[at[player] for player in teams[0]]])
    assert (np.diff(ratings, axis=0) < 0).all()


@pytest.mark.parametrize("name", ABLE)
def test_members__with_equal_beliefs_and_shares_move_alike_and_less_than_one_alone(name: str) -> None:
    standings = [(0, 0, [0, 1, 2], None), (1, 1, [3], None), (2, 2, [4], None)]
    alone = [(0, 0, [0], None), (1, 1, [3], None), (2, 2, [4], None)]
    gained = rate(name, [(standings, 0, 1.0, math.inf)]).mu[:3] - 1500.0
    assert len(set(gained.tolist())) == 1
    assert 0 < gained[0] < rate(name, [(alone, 0, 1.0, math.inf)]).mu[0] - 1500.0


def test_influence__of_one_result_is_bounded_for_a_member_of_a_robust_system() -> None:
    """A loss of 30,000 points moves a member by the bound, pi / (sqrt(3) b) sigma^2."""
    system = SYSTEMS["elo-mmr"]
    params = system.params(beta=200.0, gamma=0.0, rho=0.0)
    beliefs = system.newcomers(params, 4)
    for column in (beliefs.mu, beliefs.state["normal_mu"]):
        column[:] = 30_000.0, 30_000.0, 0.0, 0.0
    round = team_rounds([([(0, 0, [2, 3], None), (1, 1, [0, 1], None)], 0, 1.0, math.inf)], EVERYBODY)
    outcome = rate_rounds(system, params, beliefs, round, Serial())
    noise = math.sqrt(200.0**2 + (350.0 / 2) ** 2) * 2
    fall = 30_000.0 - outcome.mu[2]
    assert fall == pytest.approx(math.pi / math.sqrt(3) / noise * 350.0**2, rel=1e-12)


@pytest.mark.parametrize("name", sorted(set(SYSTEMS) - {*ABLE, "trueskill", "bar"}))
def test_system__without_a_rule_for_teams_refuses_them(name: str) -> None:
    system = SYSTEMS[name]
    params = system.params()
    round = team_rounds([([(0, 0, [0, 1], None), (1, 1, [2], None)], 0, 1.0, math.inf)], EVERYBODY)
    rule = f"{name} has no rule for rounds of teams; elo-mmr, elo-mmx, elo-mms, trueskill and bar have one"
    with pytest.raises(ValueError, match=rule):
        rate_rounds(system, params, system.newcomers(params, 3), round, Serial())


def test_round_of_teams__without_a_performance_names_a_member() -> None:
    """The error of the field counts teams; the error of the round counts members."""
    from ranklake.rating_kernels.core.beliefs import serial_map
    from ranklake.rating_kernels.core.system import ConvergenceError
    from ranklake.rating_kernels.inference.teams.rounds import rate_team_round

    class Failing:
        def __getattr__(self, name: str):
            return lambda *arguments: None

        def summarise(self, *arguments):
            raise ConvergenceError("no performance found", 1)

    system = SYSTEMS["elo-mmx"]
    params = system.params()
    round = team_rounds([([(0, 0, [0, 1], None), (1, 1, [2, 3], None)], 0, 1.0, math.inf)], EVERYBODY)
    outcome = Outcome.empty(4)
    for column in (outcome.mu_prior, outcome.sigma_prior):
        column[:] = 100.0
    with pytest.raises(ConvergenceError) as caught:
        rate_team_round(Failing(), params, system.newcomers(params, 4), round, serial_map, outcome)
    assert caught.value.row == 2


def test_rounds__hold_teams_of_every_round() -> None:
    rounds = team_rounds(draw_team_contests(7, len(EVERYBODY), 5), EVERYBODY)
    assert rounds.of_teams.all()
    assert rounds.participants.tolist() == [
        len(np.flatnonzero((rounds.teams.offsets >= a) & (rounds.teams.offsets < b)))
        for a, b in itertools.pairwise(rounds.offsets)
    ]
    odd = np.arange(5) % 2 == 1
    kept, parts = rounds.keep(odd), [rounds.part(i, i + 1) for i in range(5) if odd[i]]
    assert same_bits(kept.teams, Ragged.concat([part.teams for part in parts]))
    again = Rounds.from_arrays(rounds.arrays)
    assert all(same_bits(a, b) for a, b in zip(again.arrays, rounds.arrays, strict=True))
    assert len(rounds.arrays) == len(Rounds.from_columns([0, 1], [0], [0], [0]).arrays) + 2


@pytest.mark.parametrize(
    ("teams", "share", "message"),
    [
        ([0, 2, 2, 4], [1, 1, 1, 1], "team 1 has no members"),
        ([0, 1, 3, 4], [1, 1, 1, 1], "a team is in the rounds 0 and 1"),
        ([0, 2, 3], [1, 1, 1, 1], "the offsets of teams must go from 0 to 4, the number of rows"),
        ([0, 2, 4], [1, 0, 1, 1], "row 1: a share must be within 1e-09..1e\\+09, got 0.0"),
        ([0, 2, 4], [1, 1, -2, 1], "row 2: a share must be within 1e-09..1e\\+09, got -2.0"),
        ([0, 2, 4], [1, 1, 1, math.nan], "row 3: a share must be within 1e-09..1e\\+09, got nan"),
        ([0, 2, 4], [1, 1, 1], r"share must have 4 entries, got shape \(3,\)"),
    ],
)
def test_rounds__refuse_invalid_teams(teams: list[int], share: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Rounds.from_columns(
            [0, 2, 4], [0, 1, 2, 3], [0, 0, 0, 0], [0, 0, 0, 0], teams=Ragged(np.array(teams), np.array(share))
        )


@pytest.mark.parametrize(
    ("lo", "message"),
    [
        ([0, 1, 1], "round 0, rows 0-1: the members of a team have different places"),
        ([1, 1, 0], "round 0, rows 0-2: not sorted by place: lo = 0 follows lo = 1"),
        ([0, 0, 2], "round 0, row 2: the tie group at position 1 has lo = 2; places leave no gaps"),
    ],
)
def test_rounds__count_places_of_teams(lo: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Rounds.from_columns([0, 3], [0, 1, 2], lo, lo, teams=Ragged(np.array([0, 2, 3]), np.ones(3)))
