"""The precision of a round: it divides the variance of performances, and not the drift."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.histories import four_steps, same_bits
from helpers.rounds import N_PLAYERS, history, season
from helpers.teams import draw_team_contests, team_rounds

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Outcome, Prior, Rounds
from ranklake.rating_kernels.core.standings import Conditions
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.smoothing.sweeps import Smoother

# Hyperparameters by which a round of a precision is one of another noise, and the name of this noise.
NOISE: dict[str, tuple[str, dict[str, Any]]] = {
    "elo-mmr": ("beta", {"beta": 210.0, "gamma": 40.0, "noob_delay": (0.5,)}),
    "elo-mmx": ("beta", {"beta": 190.0, "gamma": 40.0}),
    "elo-mms": ("beta", {"gamma": 20.0}),
    "trueskill": ("beta", {"model": "place", "beta": 175.0}),
    "bar": ("beta", {"beta": 300.0}),
    "glicko-allpairs": ("beta", {}),
}
READS = [*NOISE, "elo-r"]
PRECISIONS = [0.25, 1.0, 3.0, 1.7]


def rated(system: Any, params: Any, rounds: Rounds) -> Outcome:
    n = int(rounds.player.max()) + 1
    return rate_rounds(system, params, system.newcomers(params, n), rounds, Serial())


def varied(rounds: Rounds) -> Rounds:
    return replace(rounds, precision=np.resize(PRECISIONS, len(rounds)))


ALONE = varied(history([30, 2, 3, 40, 2, 2, 25, 60], 80))
TEAMS = varied(team_rounds(draw_team_contests(3, 24, 8), {k: k for k in range(24)}))
ADVANCED = replace(ALONE, advantage=np.resize([0.0, 40.0, -25.0], ALONE.n_rows))


ROUNDS = {"alone": ALONE, "teams": TEAMS, "advantages": ADVANCED}
HISTORIES = [
    (name, kind)
    for name in NOISE
    for kind in ROUNDS
    if not (name == "glicko-allpairs" and kind == "teams") and not (name == "bar" and kind == "advantages")
]


@pytest.mark.quick("elo-mmr-alone", "elo-mms-teams")
@pytest.mark.parametrize(("name", "kind"), HISTORIES)
def test_round__of_a_precision_is_one_of_less_noise(name: str, kind: str) -> None:
    """The same beliefs, rated round by round with the noise of each."""
    (noise, chosen), system, rounds = NOISE[name], SYSTEMS[name], ROUNDS[kind]
    params = system.params(**chosen)
    found, beliefs = rated(system, params, rounds), system.newcomers(params, 80)
    for r in range(len(rounds)):
        own = replace(params, **{noise: getattr(params, noise) / math.sqrt(rounds.precision[r])})
        one = replace(rounds.part(r, r + 1), precision=np.ones(1))
        expected = rate_rounds(system, own, beliefs, one, Serial())
        rows = slice(rounds.offsets[r], rounds.offsets[r + 1])
        assert found.mu[rows] == pytest.approx(expected.mu, rel=1e-9)
        assert found.sigma[rows] == pytest.approx(expected.sigma, rel=1e-9)


@pytest.mark.quick("elo-mmr", "bar")
@pytest.mark.parametrize("name", READS)
def test_large_round__has_the_precision_of_a_small_one(name: str) -> None:
    system, one = SYSTEMS[name], replace(history([30], 40), precision=np.array([2.5]))
    params = system.params()
    store, other = system.newcomers(params, 40), system.newcomers(params, 40)
    small, large = rate_rounds(system, params, store, one, Serial()), four_steps(system, params, other, one)
    assert large.mu == pytest.approx(small.mu, rel=1e-9)
    assert large.sigma == pytest.approx(small.sigma, rel=1e-9)
    usual = rated(system, params, replace(one, precision=np.ones(1)))
    assert (small.sigma < usual.sigma).all()


def limit(noise2: float, drift2: float) -> float:
    """The fixed point of 1 / s = 1 / (s + drift^2) + 1 / noise^2, by the variance s."""
    return math.sqrt((math.sqrt(drift2**2 + 4.0 * drift2 * noise2) - drift2) / 2.0)


@pytest.mark.parametrize("precision", [0.2, 1.0, 4.0])
@pytest.mark.parametrize(
    ("name", "chosen", "noise2", "drift2"),
    [
        ("elo-mmr", {}, 80.0**2 * (1.0 + 1.0 / 0.2), 0.2 * 80.0**2),  # the limits: weight_limit 0.2, sig_limit 80
        ("elo-mmx", {"beta": 200.0, "gamma": 50.0}, 200.0**2, 50.0**2),
        ("elo-r", {"gamma": 250.0, "sigma_star": 100.0}, 250.0**2, 1.0 / (100.0**-2 - 250.0**-2) - 100.0**2),
        ("glicko-allpairs", {"beta": 300.0}, 4.0 * 300.0**2 * 3.0 / math.pi**2, 35.0**2),
        ("elo-mms", {"skew": 1.0, "resolution": "exact", "drift_per_day": 0.0}, 260.0**2, 12.0**2),  # duels: 2 beta
    ],
)
def test_sigma__tends_to_the_fixed_point_of_the_divided_noise(
    name: str, chosen: dict[str, Any], noise2: float, drift2: float, precision: float
) -> None:
    """After 1,500 draws of two equals; precision changes sigma, and the drift stays."""
    system, n = SYSTEMS[name], 1500
    params = system.params(**chosen)
    draws = Rounds.from_columns(
        np.arange(0, 2 * n + 1, 2), np.tile([0, 1], n), np.zeros(2 * n, int), np.ones(2 * n, int),
        precision=np.full(n, precision),
    )  # fmt: skip
    assert rated(system, params, draws).sigma[-1] == pytest.approx(limit(noise2 / precision, drift2), rel=1e-9)


@pytest.mark.parametrize("name", ["elo-mmr", "elo-mmx", "elo-mms", "elo-r"])
def test_chance__of_a_precision_is_that_of_less_noise(name: str) -> None:
    system = SYSTEMS[name]
    params, precision = system.params(), 4.0
    one, other = (Prior(np.array([mu]), np.zeros(1), np.zeros(1), np.ones(1, np.int32)) for mu in (1600.0, 1500.0))
    usual = system.performance_law(params, Conditions(), 5, one).deviation
    assert system.performance_law(params, Conditions(precision=precision), 5, one).deviation == usual / 2.0
    chance = system.beats(params, Conditions(precision=precision), 5, one, other)
    nearer = one._replace(mu=other.mu + 200.0)
    assert chance == pytest.approx(system.beats(params, Conditions(), 5, nearer, other), rel=1e-12)


@pytest.mark.parametrize("name", ["trueskill", "bar", "glicko-allpairs"])
def test_precision__is_a_weight_where_this_is_one_of_noise_alone(name: str) -> None:
    system, rounds = SYSTEMS[name], season((40, 2, 3, 700))
    params = system.params()
    weighted = replace(rounds, weight=rounds.precision, precision=np.ones(len(rounds)))
    outcomes = [
        rate_rounds(system, params, system.newcomers(params, N_PLAYERS), each, Serial()) for each in (rounds, weighted)
    ]
    assert same_bits(*outcomes)


@pytest.mark.parametrize("chosen", [{}, {"skew": 1.5, "resolution": "rank"}], ids=["normal", "skewed"])
def test_smoothing__of_precisions_is_that_of_weights_without_drift(chosen: dict[str, Any]) -> None:
    rounds = replace(ALONE, weight=np.ones(len(ALONE)))
    weighted = replace(rounds, weight=rounds.precision, precision=np.ones(len(rounds)))
    found = []
    for given in (rounds, weighted, replace(rounds, precision=np.ones(len(rounds)))):
        smoother = Smoother(Smoothing(gamma=0.0, **chosen), given, 80)
        for _ in range(3):
            smoother.sweep()
        found.append(smoother.result())
    assert same_bits(found[0].smooth_sigma, found[1].smooth_sigma)
    assert same_bits(found[0].smooth_mu, found[1].smooth_mu)
    assert not same_bits(found[0].smooth_sigma, found[2].smooth_sigma)
